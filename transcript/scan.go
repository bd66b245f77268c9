package transcript

import (
	"bytes"
	"encoding/json"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// A field is one member of a row's object: its name and its raw value.
type field = jsonx.Member

// scanObject finds the members of the object in line. When line is broken, the members before the
// damage come back with the error.
func scanObject(line []byte, dst []field) ([]field, error) { return jsonx.Scan(line, dst) }

// rawString decodes a raw JSON string, and reports whether raw is one.
func rawString(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	body := raw[1 : len(raw)-1]
	if bytes.IndexByte(body, '\\') < 0 && isASCII(body) {
		return string(body), true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}
