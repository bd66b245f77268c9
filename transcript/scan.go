package transcript

import (
	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// A field is one member of a row's object: its name and its raw value.
type field = jsonx.Member

// scanObject finds the members of the object in line. When line is broken, the members before the
// damage come back with the error.
func scanObject(line []byte, dst []field) ([]field, error) { return jsonx.Scan(line, dst) }

// rawString decodes a raw JSON string, and reports whether raw is one.
func rawString(raw []byte) (string, bool) {
	s, fit := jsonx.String(raw)
	return s, fit != jsonx.Unfit
}
