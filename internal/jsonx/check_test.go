package jsonx_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

func FuzzCheckAgreesWithEncodingJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-0.5e+3,"x\u00e9\n",null,true,false,{}]}`, `"12345678"`, "\"1234567\x01\"", `"\q"`, `"\u12g4"`, `01`, `-`, `1.`, `1e`,
		`{"a":1,}`, `[1,]`, `[`, `{"a"`, `{"a":`, "\"\x80\xff\"", `tru`, `nul`, ` {} `, `{} x`, ``, `"abcdefgh\"ijk"`,
		strings.Repeat("[", 9000) + strings.Repeat("]", 9000), strings.Repeat("[", 20000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want := json.Valid(data)
		require.Equal(t, want, jsonx.Check(data) == nil, "%q", data)
		members, err := jsonx.Scan(data, nil)
		if want && jsonx.KindOf(data) == jsonx.Map {
			require.NoError(t, err)
			n := 0
			for k, v := range jsonx.Members(data) {
				require.Equal(t, string(k), string(members[n].Key))
				require.Equal(t, string(v), string(members[n].Value))
				n++
			}
			require.Len(t, members, n)
		} else {
			require.Error(t, err)
		}
	})
}
