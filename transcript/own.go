package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// fieldOwn is the one member of a stored row or message that is this package's own. Entries never
// show it, and one that a caller sets is dropped. See the package comment.
const fieldOwn = "contextengine"

// rowOwn is what this package writes into a row besides the entry.
type rowOwn struct {
	key        string     // the key, where it is not the id
	batch      batchMark  // of rows that were appended together
	generation Generation // on leaf rows: the generation that the row starts
	id, kept   string     // of rows that are stored as messages of a host
	side       bool
	extra      map[string]json.RawMessage
}

// batchMark says that a row is one of several that were appended together: row n of rows. All
// rows of a batch have its id. A batch whose last row is not there was never appended.
type batchMark struct {
	id      string
	n, rows int
}

func (m batchMark) valid() bool { return m.id != "" && m.n > 0 && m.n <= m.rows }

// encode writes the member's value; nil when there is nothing to say.
func (o rowOwn) encode() []byte {
	w := objectWriter{}
	if o.id != "" {
		w.str("id", o.id)
	}
	if o.key != "" {
		w.str("key", o.key)
	}
	if o.batch.valid() {
		w.str("batch", o.batch.id)
		w.raw("row", fmt.Append(nil, o.batch.n))
		w.raw("rows", fmt.Append(nil, o.batch.rows))
	}
	if o.generation > 0 {
		w.raw("generation", fmt.Append(nil, uint64(o.generation)))
	}
	if o.kept != "" {
		w.str("firstKept", o.kept)
	}
	if o.side {
		w.raw("side", []byte("true"))
	}
	if len(o.extra) > 0 {
		x := objectWriter{}
		for _, name := range slices.Sorted(maps.Keys(o.extra)) {
			x.raw(name, o.extra[name])
		}
		w.raw("extra", x.end())
	}
	if len(w.names) == 0 {
		return nil
	}
	return w.end()
}

// decodeOwn reads the member's value. What it does not know it ignores.
func decodeOwn(raw []byte) rowOwn {
	var o rowOwn
	if jsonx.KindOf(raw) != jsonx.Map {
		return o
	}
	for name, value := range jsonx.Members(raw) {
		s, _ := rawString(value)
		switch string(name) {
		case "id":
			o.id = s
		case "key":
			o.key = s
		case "batch":
			o.batch.id = s
		case "row":
			o.batch.n, _ = rawInt(value)
		case "rows":
			o.batch.rows, _ = rawInt(value)
		case "generation":
			if n, ok := rawInt(value); ok && n > 0 {
				o.generation = Generation(n)
			}
		case "firstKept":
			o.kept = s
		case "side":
			o.side = string(value) == "true"
		case "extra":
			o.extra = make(map[string]json.RawMessage)
			for name, raw := range jsonx.Members(value) {
				o.extra[string(name)] = bytes.Clone(raw)
			}
		}
	}
	return o
}

// marked marks the rows of a batch as one; a single row needs no mark.
func marked(entries []Entry, own []rowOwn) {
	if len(entries) < 2 {
		return
	}
	for i := range own {
		own[i].batch = batchMark{id: entries[0].ID, n: i + 1, rows: len(entries)}
	}
}
