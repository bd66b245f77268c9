package transcript

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// decodeHeader reads a header line.
func decodeHeader(line []byte) (Header, error) {
	fields, err := scanObject(line, nil)
	if err != nil {
		return Header{}, err
	}
	h := Header{Version: 1}
	var typ string
	for _, f := range fields {
		s, _ := rawString(f.Value)
		switch string(f.Key) {
		case "type":
			typ = s
		case "id":
			h.ID = s
		case "cwd":
			h.Cwd = s
		case "parentSession":
			h.ParentSession = s
		case "boundary":
			h.Boundary = s
		case "version":
			if n, ok := rawInt(f.Value); ok && n > 0 {
				h.Version = n
			}
		case "timestamp":
			h.Timestamp, _ = time.Parse(time.RFC3339Nano, s)
		}
	}
	switch {
	case typ != "session":
		return Header{}, fmt.Errorf("first row has type %q, not %q", typ, "session")
	case strings.TrimSpace(h.ID) == "":
		return Header{}, fmt.Errorf("session header has no id")
	}
	return h, nil
}

// encodeHeader writes h as a line of the current version. Fields of an older line are kept.
func encodeHeader(h Header, old []byte) []byte {
	w := objectWriter{}
	w.str("type", "session")
	w.raw("version", fmt.Append(nil, currentVersion))
	w.str("id", h.ID)
	w.str("timestamp", h.Timestamp.UTC().Format(timeLayout))
	w.str("cwd", h.Cwd)
	if h.ParentSession != "" {
		w.str("parentSession", h.ParentSession)
	}
	if h.Boundary != "" {
		w.str("boundary", h.Boundary)
	}
	fields, err := scanObject(old, nil)
	if err != nil {
		return w.end()
	}
	for _, f := range fields {
		if !w.has(string(f.Key)) {
			w.raw(string(f.Key), f.Value)
		}
	}
	return w.end()
}

// complete checks a header and fills in what Create makes up.
func (h *Header) complete(now func() time.Time) error {
	if h.Timestamp.IsZero() {
		h.Timestamp = now().UTC().Truncate(time.Millisecond)
	}
	if h.ID == "" {
		h.ID = newUUID(h.Timestamp)
	}
	h.Version = currentVersion
	return checkSessionID(h.ID)
}

// sortHeaders brings the oldest session to the front.
func sortHeaders(hs []Header) {
	slices.SortFunc(hs, func(a, b Header) int {
		return cmp.Or(a.Timestamp.Compare(b.Timestamp), strings.Compare(a.ID, b.ID))
	})
}
