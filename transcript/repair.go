package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// A RepairReport says what Repair did.
type RepairReport struct {
	Backup  string    // the file as it was; empty when nothing was changed
	Changes []Problem // with the line numbers of the old file; each Err is a [*RepairedError]
}

// RepairKind says what was mended in a row.
type RepairKind string

const (
	// RepairDroppedLine: a line that is not JSON, or a message without a role, was left out.
	RepairDroppedLine RepairKind = "dropped line"
	// RepairFailedAnswer: an empty answer of a failed turn got [RepairAnswerText].
	RepairFailedAnswer RepairKind = "failed answer"
	// RepairBlankInput: a user message got its blank texts removed, or [RepairInputText].
	RepairBlankInput RepairKind = "blank input"
	// RepairImage: an image whose data is no base64 became [RepairImageText].
	RepairImage RepairKind = "broken image"
	// RepairMissingResult: a tool call that never got its result got one, [RepairResultText].
	RepairMissingResult RepairKind = "missing result"
	// RepairMigrated: an older version was brought up to date.
	RepairMigrated RepairKind = "migrated"
)

// What Repair puts where something is missing.
const (
	RepairAnswerText = "[no answer: the turn failed]"
	RepairInputText  = "(no text)"
	RepairImageText  = "[image left out: its data is damaged]"
	RepairResultText = "[no result: the call was cut short]"
)

// A RepairedError names the damage that a row had.
type RepairedError struct {
	Kind   RepairKind
	Detail string // may be empty
}

// Error implements error.
func (e *RepairedError) Error() string {
	if e.Detail == "" {
		return string(e.Kind)
	}
	return string(e.Kind) + ": " + e.Detail
}

// Repair mends a broken session file explicitly: what has to be left out or filled in so that
// every reader, and every provider, takes it. The file as it was is kept beside it, and the mended
// one takes its place at once. A file that needs nothing is not touched. One that is no session, or
// lacks its header, is a [*NotSessionError]; appending to a session without a header gives it one.
//
// The kinds of damage are those that OpenClaw 2026.7.1 mends, and children of a row that is left
// out hang under its parent.
func Repair(ctx context.Context, path string) (RepairReport, error) {
	log, err := OpenFile(path, nil)
	if err != nil {
		return RepairReport{}, fmt.Errorf("repairing: %w", err)
	}
	s := log.(*handle).s
	var report RepairReport
	err = s.write(ctx, func() error {
		report, err = s.back.(*fileBackend).repair(ctx, s)
		return err
	})
	var not *NotSessionError
	if errors.As(err, &not) {
		not.Path = path
	}
	if err != nil {
		err = fmt.Errorf("repairing %q: %w", path, err)
	}
	if report.Backup != "" {
		report.Backup = filepath.Join(filepath.Dir(path), report.Backup)
	}
	return report, errors.Join(err, log.Close())
}

// repairer writes the mended file.
type repairer struct {
	b    *fileBackend
	snap *snapshot
	rows map[int64]int32 // by place in the file

	answered map[string]bool  // ids of calls that have a result
	mirrored map[int32]bool   // rows that a delivery mirror follows
	under    map[int32]string // ids of added results, by the row of the call
	renamed  bool             // ids that follow from the rows before would no longer be the same

	out     bytes.Buffer
	changes []Problem
}

func (b *fileBackend) repair(ctx context.Context, s *session) (RepairReport, error) {
	if b.x.headless {
		return RepairReport{}, &NotSessionError{Reason: "the first row is not a session header"}
	}
	r := &repairer{b: b, snap: s.snap.Load(), under: make(map[int32]string)}
	r.rows = rowsAt(r.snap.rows)
	if err := r.survey(ctx); err != nil {
		return RepairReport{}, err
	}
	if err := r.mend(s); err != nil {
		return RepairReport{}, err
	}
	if len(r.changes) == 0 {
		return RepairReport{}, nil
	}
	backup, err := b.backup(suffixRepair + fileStamp(s.now()))
	if err != nil {
		return RepairReport{}, err
	}
	report := RepairReport{Backup: backup, Changes: r.changes}
	return report, b.replace(s, bytesContent(r.out.Bytes()))
}

func (r *repairer) change(line int32, kind RepairKind, detail string) {
	r.changes = append(r.changes, Problem{Line: int(line), Err: &RepairedError{Kind: kind, Detail: detail}})
}

// survey finds out which calls have a result and which rows a mirror of a delivery follows.
func (r *repairer) survey(ctx context.Context) error {
	r.answered, r.mirrored = make(map[string]bool), make(map[int32]bool)
	rd := newRowReader(r.snap)
	previous := none
	for i := range r.snap.rows {
		k := r.snap.rows[i].kind
		if k != kindMessage && k != kindAssistant {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e, err := rd.entry(int32(i))
		if err != nil {
			return err
		}
		m := e.Message
		if m == nil {
			continue
		}
		if m.ToolCallID != "" {
			r.answered[m.ToolCallID] = true
		}
		if m.Provider == "openclaw" && m.Model == "delivery-mirror" && previous != none {
			r.mirrored[previous] = true
		}
		previous = int32(i)
	}
	return nil
}

func (r *repairer) mend(s *session) error {
	header := r.b.x.headerLine
	if r.snap.version < currentVersion {
		header = encodeHeader(s.header, header)
		r.change(1, RepairMigrated, fmt.Sprintf("version %d", r.snap.version))
	}
	headerDone := false
	err := r.b.eachLine(func(l fileLine) error {
		i, isRow := r.rows[l.off]
		if !headerDone && !isRow && bytes.Equal(l.text, r.b.x.headerLine) {
			headerDone = true
			r.line(header)
			return nil
		}
		return r.row(s, l, i, isRow)
	})
	if err == nil && r.b.size > r.b.x.end {
		r.change(r.b.x.line+1, RepairDroppedLine, "cut off")
	}
	return err
}

func (r *repairer) line(text []byte) {
	r.out.Write(text)
	r.out.WriteByte('\n')
}

// row mends one line of the file.
func (r *repairer) row(s *session, l fileLine, i int32, isRow bool) error {
	if _, err := scanObject(l.text, nil); err != nil {
		r.change(l.no, RepairDroppedLine, err.Error())
		return nil
	}
	if !isRow {
		r.line(l.text)
		return nil
	}
	row := &r.snap.rows[i]
	derived := stringField(l.text, "id") == ""
	if row.bad {
		r.renamed = r.renamed || derived
		r.change(l.no, RepairDroppedLine, "not a message")
		return nil
	}
	text := withoutBatch(l.text, row)
	if r.snap.version < currentVersion {
		var err error
		if text, err = migratedRow(r.snap, i, text); err != nil {
			return err
		}
	}
	text = r.reparent(text, i)
	mended, err := r.message(text, l.no)
	if err != nil {
		return err
	}
	r.renamed = r.renamed || derived && !bytes.Equal(mended, l.text)
	if r.renamed {
		mended = withID(mended, row.id)
	}
	r.line(mended)
	return r.addResults(s, i, l.no)
}

// withID gives a row that has none the id by which it is known.
func withID(line []byte, id string) []byte {
	if stringField(line, "id") != "" {
		return line
	}
	fields, err := scanObject(line, nil)
	if err != nil {
		return line
	}
	w := objectWriter{}
	w.str("id", id)
	for _, f := range fields {
		if string(f.Key) != "id" {
			w.raw(string(f.Key), f.Value)
		}
	}
	return w.end()
}

// reparent hangs a row whose parent is left out under what is above that.
func (r *repairer) reparent(text []byte, i int32) []byte {
	parent := r.snap.named(i)
	if parent == none {
		return text
	}
	id, moved := r.under[parent]
	if !moved && !r.snap.rows[parent].bad {
		return text
	}
	if !moved {
		if p := r.snap.above(i); p != none {
			id = r.snap.rows[p].id
		}
	}
	value := encodeString(id)
	if id == "" {
		value = []byte("null")
	}
	return patched(text, "parentId", value)
}

// patched replaces a member of an object; a nil value removes it.
func patched(object []byte, name string, value []byte) []byte {
	fields, err := scanObject(object, nil)
	if err != nil {
		return object
	}
	w := objectWriter{}
	for _, f := range fields {
		if string(f.Key) == name {
			f.Value = value
		}
		if f.Value != nil {
			w.raw(string(f.Key), f.Value)
		}
	}
	return w.end()
}

// stringField returns a member that is a string, "" for any other.
func stringField(object []byte, name string) string {
	s, _ := rawString(jsonx.Get(object, name))
	return s
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
