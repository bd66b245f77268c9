package transcript

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-contextengine/contextengine/internal/jsonx"
	"github.com/go-contextengine/contextengine/message"
)

// trimFrom is the size from which copies that rewrites left behind are removed, if they are also
// more than everything else in the file.
const trimFrom = 256 << 10

// trim removes rows that a rewrite appended and a later rewrite appended once more: without it,
// rewriting one old message again and again would store its whole suffix each time. The rows as
// they were first, the active branch and every other branch stay. It returns the bytes removed.
func (b *fileBackend) trim(s *session) (int64, error) {
	from := cmp.Or(b.trimFrom, trimFrom)
	if s.t.copied < from {
		return 0, nil
	}
	dead, size := superseded(s.snap.Load())
	if size < from || size < b.size-size {
		return 0, nil
	}
	before := b.size
	if err := b.replace(s, b.trimmed(s, dead)); err != nil {
		return 0, fmt.Errorf("trimming session %q: %w", s.header.ID, err)
	}
	return before - b.size, nil
}

// trimmed writes the file without dead rows, and a leaf row that keeps the generation.
func (b *fileBackend) trimmed(s *session, dead []bool) content {
	rows := rowsAt(s.t.rows)
	return func(w *bufio.Writer) error {
		err := b.eachLine(func(l fileLine) error {
			i, isRow := rows[l.off]
			switch {
			case !isRow:
				return writeLine(w, l.text)
			case dead[i]:
				return nil
			}
			return writeLine(w, withID(withoutBatch(l.text, &s.t.rows[i]), s.t.rows[i].id))
		})
		if err != nil {
			return err
		}
		line, err := encodeRow(s.leafRow(s.rowID(s.t.leaf)), rowOwn{generation: s.t.gen})
		if err != nil {
			return err
		}
		return writeLine(w, line)
	}
}

// rowsAt finds rows by where they are in the file.
func rowsAt(rows []row) map[int64]int32 {
	at := make(map[int64]int32, len(rows))
	for i := range rows {
		at[rows[i].off] = int32(i)
	}
	return at
}

func writeLine(w *bufio.Writer, line []byte) error {
	if _, err := w.Write(line); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// superseded finds the rows off the active branch that a later row says again, with nothing under
// them that stays, and how many bytes they take. The rows as they were before the first rewrite
// are not among them: they are the branch that it left.
func superseded(snap *snapshot) (dead []bool, size int64) {
	rows := snap.rows
	alive := make([]bool, len(rows))
	for i := snap.leaf; i != none; i = rows[i].parent {
		alive[i] = true
	}
	again := make(map[string]int32) // the last row with a key
	for i := range rows {
		again[rows[i].messageKey()] = int32(i)
	}
	spare := make([]bool, len(rows))
	for i := range rows {
		r := &rows[i]
		under := r.parent != none && spare[r.parent]
		last := again[r.messageKey()]
		switch {
		case alive[i]:
		case r.kind == kindLeaf:
			spare[i] = under
		case last != int32(i):
			spare[i] = r.key != "" || under && snap.sameContent(int32(i), last)
		}
	}
	for i := range rows {
		if spare[i] {
			continue
		}
		for p := int32(i); p != none && !alive[p]; p = rows[p].parent {
			alive[p] = true
		}
	}
	dead = make([]bool, len(rows))
	for i := range rows {
		if !alive[i] {
			dead[i] = true
			size += int64(rows[i].n) + 1
		}
	}
	return dead, size
}

// sameContent reports whether two rows say the same.
func (s *snapshot) sameContent(i, j int32) bool {
	rd := newRowReader(s)
	a, errA := rd.entry(i)
	b, errB := rd.entry(j)
	if errA != nil || errB != nil || a.Type != b.Type {
		return false
	}
	if a.Message != nil && b.Message != nil {
		return message.Equal(*a.Message, *b.Message)
	}
	return a.Message == nil && b.Message == nil && a.Compaction == nil && b.Compaction == nil
}

// withoutBatch drops the mark of rows that were appended together: some of them may be gone. Rows
// of a batch that was never finished keep it.
func withoutBatch(line []byte, r *row) []byte {
	raw := jsonx.Get(line, fieldOwn)
	own := decodeOwn(raw)
	if !own.batch.valid() || r.weak && !r.bad {
		return line
	}
	own.batch = batchMark{}
	return patched(line, fieldOwn, own.encode())
}

// eachLine hands every line of the file that has been read to f.
func (b *fileBackend) eachLine(f func(fileLine) error) error {
	lines := lineReader{src: b.f, size: b.x.end}
	for no := int32(1); lines.at < lines.size; no++ {
		text, off, err := lines.next()
		if err != nil {
			return err
		}
		line := trimLine(text, off == 0)
		if len(line) == 0 {
			continue
		}
		if err := f(fileLine{text: line, off: off + int64(bytes.Index(text, line)), no: no}); err != nil {
			return err
		}
	}
	return nil
}

// replace makes c the session's file and reads it. The old file stays open as long as a
// snapshot may read it: it is closed with the last of them.
func (b *fileBackend) replace(s *session, c content) error {
	old := b.f
	if err := b.publishFile(c, b.fs.rename); err != nil {
		if b.f != old { // the new file is there: go on with it
			err = errors.Join(err, b.reindex(s))
		}
		return err
	}
	return b.reindex(s)
}

// reindex reads the file that b has open.
func (b *fileBackend) reindex(s *session) error {
	x, err := openIndex(context.Background(), b.f, b.size, strings.TrimSuffix(b.name, fileExt))
	if err != nil {
		return err
	}
	b.x = x
	s.t, s.src, s.header = x.t, b.f, x.header
	s.publish()
	return nil
}

// migrate brings a file of an older version, or without a header, up to date and keeps the old
// one beside it.
func (b *fileBackend) migrate(s *session) error {
	suffix := fmt.Sprintf(".v%d.bak", s.t.version)
	if b.x.headless {
		suffix = fmt.Sprintf("%s%s-%s%s", suffixCorrupt, fileStamp(s.now()), shortID(), fileExt)
	}
	backup, err := b.backup(suffix)
	if err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	old := b.f
	if err := b.replace(s, b.migrated(s)); err != nil {
		if b.f == old { // nothing has changed, so nothing needs keeping
			err = errors.Join(err, b.fs.remove(backup))
		}
		return fmt.Errorf("migrating: %w", err)
	}
	return nil
}

// migrated writes the file as version 3. Lines that are no rows stay as they are; an end that is
// cut off stays in the old file only.
func (b *fileBackend) migrated(s *session) content {
	rows := rowsAt(s.t.rows)
	snap := s.snap.Load()
	headerDone := b.x.headless
	return func(w *bufio.Writer) error {
		if err := writeLine(w, encodeHeader(s.header, b.x.headerLine)); err != nil {
			return err
		}
		return b.eachLine(func(l fileLine) error {
			i, isRow := rows[l.off]
			isRow = isRow && !snap.rows[i].bad
			if !headerDone && !isRow && bytes.Equal(l.text, b.x.headerLine) {
				headerDone = true
				return nil
			}
			if !isRow || s.t.version >= currentVersion {
				return writeLine(w, l.text)
			}
			line, err := migratedRow(snap, i, l.text)
			if err != nil {
				return err
			}
			return writeLine(w, line)
		})
	}
}

// migratedRow gives an old row what version 3 rows have: id and parent, the id of the first kept
// row instead of its index, and today's name of the custom role. Everything else is untouched.
func migratedRow(snap *snapshot, i int32, line []byte) ([]byte, error) {
	fields, err := scanObject(line, nil)
	if err != nil {
		return nil, err
	}
	r := &snap.rows[i]
	w := objectWriter{}
	for _, f := range fields {
		switch string(f.Key) {
		case "id", "parentId", "firstKeptEntryIndex":
		case "message":
			raw, err := migratedMessage(f.Value)
			if err != nil {
				return nil, err
			}
			w.raw(string(f.Key), raw)
		default:
			w.raw(string(f.Key), f.Value)
		}
	}
	w.str("id", r.id)
	if p := snap.above(i); p != none {
		w.str("parentId", snap.rows[p].id)
	} else {
		w.raw("parentId", []byte("null"))
	}
	if r.kind == kindCompaction && r.kept != none && !w.has("firstKeptEntryId") {
		w.str("firstKeptEntryId", snap.rows[r.kept].id)
	}
	return w.end(), nil
}

func migratedMessage(raw []byte) ([]byte, error) {
	fields, err := scanObject(raw, nil)
	if err != nil {
		return nil, err
	}
	w := objectWriter{}
	old := false
	for _, f := range fields {
		if s, _ := rawString(f.Value); string(f.Key) == "role" && s == "hookMessage" {
			old = true
			f.Value = []byte(`"custom"`)
		}
		w.raw(string(f.Key), f.Value)
	}
	if !old {
		return raw, nil
	}
	return w.end(), nil
}

// backup keeps the file as it is under another name, and returns that name.
func (b *fileBackend) backup(suffix string) (string, error) {
	name, err := b.freeName(b.name + suffix)
	if err != nil {
		return "", err
	}
	if err := b.fs.link(b.name, name); err == nil {
		return name, nil
	}
	err = b.writeFile(name, func(w *bufio.Writer) error { // a file system without links
		_, err := io.Copy(w, io.NewSectionReader(b.f, 0, b.size))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("keeping the old file: %w", err)
	}
	return name, nil
}

// freeName finds a name that no file has.
func (b *fileBackend) freeName(want string) (string, error) {
	name := want
	for n := 2; ; n++ {
		_, err := b.fs.lstat(name)
		if errors.Is(err, os.ErrNotExist) {
			return name, nil
		}
		if err != nil {
			return "", err
		}
		name = fmt.Sprintf("%s.%d", want, n)
	}
}
