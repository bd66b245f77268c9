package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// expand replaces every {"$concat":[[text, n], …]} by the text it stands for.
func expand(raw json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(raw, []byte(`"$concat"`)) {
		return raw, nil
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	if v, err = expandValue(v); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// decodeJSON keeps numbers as they were written.
func decodeJSON(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

func expandValue(v any) (any, error) {
	var err error
	switch x := v.(type) {
	case map[string]any:
		if parts, ok := x["$concat"].([]any); ok && len(x) == 1 {
			return concat(parts)
		}
		for k := range x {
			if x[k], err = expandValue(x[k]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range x {
			if x[i], err = expandValue(x[i]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func concat(parts []any) (string, error) {
	var b strings.Builder
	for _, p := range parts {
		pair, ok := p.([]any)
		if !ok || len(pair) != 2 {
			return "", fmt.Errorf("$concat: part %v is not [text, count]", p)
		}
		text, ok := pair[0].(string)
		if !ok {
			return "", fmt.Errorf("$concat: %v is not a text", pair[0])
		}
		n, err := strconv.Atoi(fmt.Sprint(pair[1]))
		if err != nil || n < 0 {
			return "", fmt.Errorf("$concat: %v is not a count", pair[1])
		}
		b.WriteString(strings.Repeat(text, n))
	}
	return b.String(), nil
}

// compareGolden says how what a function gave differs from what was recorded; "" is equal.
// A recorded {"$throws"} is met by any error: texts are our own.
func compareGolden(want, got json.RawMessage, err error) string {
	if len(want) == 0 {
		want = json.RawMessage("null") // a result that was undefined
	}
	w, werr := decodeJSON(want)
	if werr != nil {
		return fmt.Sprintf("  recorded output: %v\n", werr)
	}
	if m, ok := w.(map[string]any); ok && m["$throws"] != nil {
		if err == nil {
			return fmt.Sprintf("  want a failure (%v)\n  got  %s\n", m["$throws"], shorten(string(got)))
		}
		return ""
	}
	if err != nil {
		return fmt.Sprintf("  got error: %v\n", err)
	}
	g, gerr := decodeJSON(got)
	if gerr != nil {
		return fmt.Sprintf("  output: %v\n", gerr)
	}
	c := comparer{byWant: map[string]string{}, byGot: map[string]string{}}
	c.value("$", w, g)
	return c.out.String()
}

// A comparer walks two decoded values and writes down each difference.
type comparer struct {
	out strings.Builder
	// Generated ids must correspond one to one.
	byWant, byGot map[string]string
}

func (c *comparer) differ(path string, want, got any) {
	fmt.Fprintf(&c.out, "  %s\n    want %s\n    got  %s\n", path, show(want), show(got))
}

func (c *comparer) value(path string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			c.object(path, w, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			c.list(path, w, g)
			return
		}
	case string:
		if c.text(w, got) {
			return
		}
	case json.Number:
		if g, ok := got.(json.Number); ok && sameNumber(w, g) {
			return
		}
	default: // bool and nil
		if want == got {
			return
		}
	}
	c.differ(path, want, got)
}

// object compares members; null, undefined and absent are one.
func (c *comparer) object(path string, want, got map[string]any) {
	keys := slices.Collect(maps.Keys(want))
	for k := range got {
		if _, ok := want[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if want[k] != nil || got[k] != nil {
			c.value(path+"."+k, want[k], got[k])
		}
	}
}

func (c *comparer) list(path string, want, got []any) {
	if len(want) != len(got) {
		c.differ(path+" (length "+strconv.Itoa(len(want))+" and "+strconv.Itoa(len(got))+")", want, got)
		return
	}
	for i := range want {
		c.value(fmt.Sprintf("%s[%d]", path, i), want[i], got[i])
	}
}

// text compares a recorded text, which may hold placeholders or a whole JSON row.
func (c *comparer) text(want string, got any) bool {
	g, ok := got.(string)
	if !ok {
		n, isNumber := got.(json.Number)
		return isNumber && strings.HasPrefix(want, "<now") && sameText(want, string(n))
	}
	if want == g {
		return true
	}
	if strings.HasPrefix(want, ownWords) {
		return g != "" // what the reference words for itself is no target
	}
	if generatedID().MatchString(want) {
		return c.sameID(want, g)
	}
	if strings.HasPrefix(want, "{") {
		return c.sameRow(want, g)
	}
	return sameText(want, g)
}

// sameRow compares two texts that are JSON objects by their members.
func (c *comparer) sameRow(want, got string) bool {
	w, err := decodeJSON([]byte(strings.ReplaceAll(want, ":<now>", `:"<now>"`)))
	if err != nil {
		return sameText(want, got)
	}
	g, err := decodeJSON([]byte(got))
	if err != nil {
		return false
	}
	before := c.out.Len()
	c.value("row", w, g)
	return c.out.Len() == before
}

// sameID holds generated ids to a one-to-one correspondence over the whole case.
func (c *comparer) sameID(want, got string) bool {
	w, seenWant := c.byWant[want]
	g, seenGot := c.byGot[got]
	if !seenWant && !seenGot {
		c.byWant[want], c.byGot[got] = got, want
		return got != ""
	}
	return w == got && g == want
}

// ownWords starts the texts that the reference inserts in its own words.
const ownWords = "[openclaw] "

func generatedID() *regexp.Regexp { return regexp.MustCompile(`^(?:new|id)\d+$`) }

// placeholders gives what each generated value may look like.
func placeholders() map[string]string {
	return map[string]string{
		"<now>":     `\d+(?:\.\d+)?`,
		"<now-iso>": `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`,
		"<uuid>":    `[0-9a-fA-F-]{36}`,
		"<id>":      `[^\s/]+`,
		"<stamp>":   `[^\s/]+`,
	}
}

// sameText matches a text with placeholders in it.
func sameText(want, got string) bool {
	if !strings.Contains(want, "<") {
		return want == got
	}
	pattern := regexp.QuoteMeta(want)
	for name, expr := range placeholders() {
		pattern = strings.ReplaceAll(pattern, regexp.QuoteMeta(name), expr)
	}
	re, err := regexp.Compile(`(?s)^(?:` + pattern + `)$`)
	return err == nil && re.MatchString(got)
}

// sameNumber allows floats the difference that another order of operations makes.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, err := a.Float64()
	if err != nil {
		return false
	}
	y, err := b.Float64()
	if err != nil {
		return false
	}
	return math.Abs(x-y) <= 1e-12*max(1, math.Abs(x), math.Abs(y))
}

func show(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return shorten(string(raw))
}

// shorten keeps a line readable: long texts lose their middle.
func shorten(s string) string {
	const limit = 600
	if len(s) <= limit {
		return s
	}
	return s[:limit/2] + " … " + s[len(s)-limit/2:]
}
