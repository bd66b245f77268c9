package jsonx_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		``: "nothing", ` `: "nothing", `x`: "nothing", ` {}`: "object", `[]`: "array", "\n\"s\"": "string",
		`-1`: "number", `7`: "number", `true`: "boolean", `false`: "boolean", `null`: "null",
	} {
		require.Equal(t, want, jsonx.KindOf([]byte(source)).String(), "%q", source)
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	source := ` { "a" : 1 , "b\"\\" : "x\\\"}" ,"a":[{"]":"}"},[]], "" : null,"\u0063":{} } `
	var got []string
	for k, v := range jsonx.Members([]byte(source)) {
		got = append(got, string(k)+"="+string(v))
	}
	require.Equal(t, []string{`a=1`, `b"\="x\\\"}"`, `a=[{"]":"}"},[]]`, `=null`, `c={}`}, got)
	require.JSONEq(t, `[{"]":"}"},[]]`, string(jsonx.Get([]byte(source), "a")), "the last of duplicates")
	require.Nil(t, jsonx.Get([]byte(source), "missing"))
	for range jsonx.Members([]byte(source)) {
		break
	}
	require.Empty(t, jsonx.Fields([]byte(`[1]`)))
}

func TestElements(t *testing.T) {
	t.Parallel()
	var got []string
	for v := range jsonx.Elements([]byte(` [ 1 ,"a,]", [ ] ,{"k":[1]}, true ] `)) {
		got = append(got, string(v))
	}
	require.Equal(t, []string{`1`, `"a,]"`, `[ ]`, `{"k":[1]}`, `true`}, got)
	for range jsonx.Elements([]byte(`[1,2]`)) {
		break
	}
	for range jsonx.Elements([]byte(`{}`)) {
		t.Fatal("no list")
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]struct {
		s   string
		fit jsonx.Fit
	}{
		`"plain"`:                  {"plain", jsonx.Exact},
		` "日本" `:                   {"日本", jsonx.Exact},
		`"\"\\\/\b\f\n\r\t\u00e9"`: {"\"\\/\b\f\n\r\té", jsonx.Exact},
		`"\ud83d\ude00"`:           {"\U0001f600", jsonx.Exact},
		`"\ufffd"`:                 {"\ufffd", jsonx.Exact},
		`"\ud83dx"`:                {"\ufffdx", jsonx.Inexact},
		`"\ud83d\ud83d\ude00"`:     {"\ufffd\U0001f600", jsonx.Inexact},
		`"\ude00\u0041"`:           {"\ufffdA", jsonx.Inexact},
		"\"a\xffb\"":               {"a\ufffdb", jsonx.Inexact},
		`null`:                     {"", jsonx.Unfit},
		`"`:                        {"", jsonx.Unfit},
		``:                         {"", jsonx.Unfit},
	} {
		s, fit := jsonx.String([]byte(source))
		require.Equal(t, want.s, s, "%q", source)
		require.Equal(t, want.fit, fit, "%q", source)
		if json.Valid([]byte(source)) && fit != jsonx.Unfit {
			var std string
			require.NoError(t, json.Unmarshal([]byte(source), &std))
			require.Equal(t, std, s, "as encoding/json")
		}
	}
}

func TestInt(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]struct {
		n   int64
		fit jsonx.Fit
	}{
		`0`: {0, jsonx.Exact}, `-7`: {-7, jsonx.Exact}, `9223372036854775807`: {math.MaxInt64, jsonx.Exact},
		`-0`: {0, jsonx.Inexact}, `1.0`: {1, jsonx.Inexact}, `1e3`: {1000, jsonx.Inexact},
		`1.5`: {0, jsonx.Unfit}, `9223372036854775808`: {0, jsonx.Unfit}, `1e30`: {0, jsonx.Unfit},
		`1e999`: {0, jsonx.Unfit}, `"1"`: {0, jsonx.Unfit}, `null`: {0, jsonx.Unfit}, ``: {0, jsonx.Unfit},
	} {
		n, fit := jsonx.Int([]byte(source))
		require.Equal(t, want.n, n, source)
		require.Equal(t, want.fit, fit, source)
	}
}

func TestBool(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]jsonx.Fit{`true`: jsonx.Exact, ` false `: jsonx.Exact, `0`: jsonx.Unfit, `null`: jsonx.Unfit} {
		v, fit := jsonx.Bool([]byte(source))
		require.Equal(t, want, fit)
		require.Equal(t, source == "true", v)
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"":                   `""`,
		"<a>&\u2028":         "\"<a>&\u2028\"",
		"\"\\\n\r\t\x00\x1f": `"\"\\\n\r\t\u0000\u001f"`,
		"日\xff本":             `"日` + "\ufffd" + `本"`,
	} {
		require.Equal(t, want, string(jsonx.AppendString(nil, s)))
	}
	require.Equal(t, `"a\ud800"`, string(jsonx.AppendKey(nil, "a\xed\xa0\x80")), "a surrogate from Members")
}

func TestObject(t *testing.T) {
	t.Parallel()
	o := jsonx.NewObject([]byte("> "))
	o.String("z", "<")
	o.Int("n", -1)
	o.Bool("b", true)
	o.Raw("r", json.RawMessage(`{ "k" : 1.0 }`))
	o.Key("v")
	o.Append(func(dst []byte) ([]byte, error) { return append(dst, "[]"...), nil })
	o.Extra(map[string]json.RawMessage{"d": json.RawMessage(`4`), "c": json.RawMessage(`3`), "skip": json.RawMessage(`0`), "empty": nil},
		func(key string) bool { return key == "skip" })
	out, err := o.Close()
	require.NoError(t, err)
	require.Equal(t, `> {"z":"<","n":-1,"b":true,"r":{ "k" : 1.0 },"v":[],"c":3,"d":4}`, string(out))

	o = jsonx.NewObject(nil)
	o.Raw("bad", json.RawMessage(`{`))
	o.Fail(fmt.Errorf("later"))
	_, err = o.Close()
	require.ErrorContains(t, err, `field "bad": invalid json: unexpected end`)

	o = jsonx.NewObject(nil)
	o.Key("k")
	o.Append(func([]byte) ([]byte, error) { return nil, fmt.Errorf("no value") })
	_, err = o.Close()
	require.EqualError(t, err, "no value")
}

func TestMarshal(t *testing.T) {
	t.Parallel()
	out, err := jsonx.Marshal(map[string]string{"b": "<&>", "a": ""})
	require.NoError(t, err)
	require.Equal(t, `{"a":"","b":"<&>"}`, string(out))
	_, err = jsonx.Marshal(math.NaN())
	require.Error(t, err)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	require.NoError(t, jsonx.Check([]byte(` {} `)))
	var syntax *json.SyntaxError
	require.ErrorAs(t, jsonx.Check([]byte(`{} x`)), &syntax)
	require.Error(t, jsonx.Check(nil))
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	flat := []byte(`{"a":"\n"}`)
	require.Same(t, &flat[0], &jsonx.OneLine(flat)[0])
	require.Equal(t, `{  "a": 1 }`, string(jsonx.OneLine([]byte("{\r\n\"a\": 1\n}"))))
}

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{``, ``, true},
		{`1`, ` 1 `, true},
		{`1`, `1.0`, false},
		{`"a"`, `"\u0061"`, true},
		{`"\ud800"`, `"\uD800"`, true},
		{`"\ud800"`, `"\ud801"`, false},
		{`"\ud800"`, `"\ufffd"`, false},
		{`{"a":1,"b":[{}]}`, `{"b":[{ }],"a":1}`, true},
		{`{"a":1,"a":2}`, `{"a":2}`, true},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`null`, `false`, false},
		{`{}`, `[]`, false},
	} {
		require.Equal(t, c.want, jsonx.Equal([]byte(c.a), []byte(c.b)), "%s %s", c.a, c.b)
		require.Equal(t, c.want, jsonx.Equal([]byte(c.b), []byte(c.a)), "%s %s", c.b, c.a)
	}
}

// FuzzWalk: no input makes a walker fail, and valid strings decode as in encoding/json.
func FuzzWalk(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"\ud800"]}`, `[{"":{}},"\\\""]`, `{"a"`, `"\u12`, `{"a":1 "b"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for k, v := range jsonx.Members(data) {
			jsonx.AppendKey(nil, string(k))
			jsonx.Equal(v, data)
		}
		for v := range jsonx.Elements(data) {
			jsonx.String(v)
			jsonx.Int(v)
		}
		s, fit := jsonx.String(data)
		if !json.Valid(data) || fit == jsonx.Unfit {
			return
		}
		var std string
		require.NoError(t, json.Unmarshal(data, &std))
		require.Equal(t, std, s)
		if fit == jsonx.Exact {
			require.True(t, jsonx.Equal(data, jsonx.AppendString(nil, s)))
		}
	})
}
