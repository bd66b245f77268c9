package transcript

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-contextengine/contextengine/message"
)

// thinkingOff is the level of a branch on which none was set.
const thinkingOff = "off"

// A snapshot is one immutable state of a log. Readers work on it while the log goes on.
type snapshot struct {
	src      source // where rows that are not held are read
	header   Header
	rows     []row
	loops    map[int32]int32 // see path
	leaf     int32
	gen      Generation
	problems []Problem
	version  int // of the rows as stored
	mark     any // what was stored then, for the backend

	building sync.Mutex           // held while the view is built
	view     atomic.Pointer[View] // nil: not asked for yet
}

// source reads stored rows. It is safe for concurrent use.
type source interface {
	ReadAt(p []byte, off int64) (int, error)
}

// readView returns the model view, building it when this snapshot was never asked.
func (s *snapshot) readView(ctx context.Context) (View, error) {
	if v := s.view.Load(); v != nil {
		return v.lend(), nil
	}
	s.building.Lock()
	defer s.building.Unlock()
	if v := s.view.Load(); v != nil {
		return v.lend(), nil
	}
	v, err := s.buildView(ctx)
	if err != nil {
		return View{}, err
	}
	s.view.Store(&v)
	return v.lend(), nil
}

// lend returns v with a clipped list, so that an append by the borrower reallocates.
func (v *View) lend() View {
	out := *v
	out.Messages = slices.Clip(v.Messages)
	return out
}

func (s *snapshot) buildView(ctx context.Context) (View, error) {
	branch := path(s.rows, s.loops, s.leaf)
	v := View{ThinkingLevel: thinkingOff, Generation: s.gen}
	if err := s.readState(ctx, branch, &v); err != nil {
		return View{}, err
	}
	last := s.lastCompaction(branch)
	shown := branch
	if last >= 0 {
		from := s.keptFrom(branch, last)
		shown = slices.Concat(branch[from:last], branch[last+1:])
		e, err := newRowReader(s).entry(branch[last])
		if err != nil {
			return View{}, err
		}
		if m, ok := e.InView(); ok {
			if m.Timestamp.IsZero() {
				m.Timestamp = s.newest(branch[:last], from)
			}
			v.Messages = append(v.Messages, m)
		}
	}
	entries, err := s.decodeAll(ctx, s.withMessages(shown))
	if err != nil {
		return View{}, err
	}
	v.Messages = slices.Grow(v.Messages, len(entries))
	for i := range entries {
		v.show(&entries[i])
	}
	return v, nil
}

// show adds what e contributes behind the last compaction.
func (v *View) show(e *Entry) {
	if e.Type == EntryCompaction {
		return
	}
	if m, ok := e.InView(); ok {
		v.Messages = append(v.Messages, m)
	}
}

// track follows the state that e sets.
func (v *View) track(e *Entry) {
	switch e.Type {
	case EntryThinkingLevelChange:
		v.ThinkingLevel = e.Field("thinkingLevel")
	case EntryModelChange:
		v.Provider, v.Model = e.Field("provider"), e.Field("modelId")
	case EntryMessage:
		if e.Message != nil && e.Message.Role == message.RoleAssistant {
			v.Provider, v.Model = e.Message.Provider, e.Message.Model
		}
	}
}

// readState finds the last thinking level and the last model on the branch, from the end, so
// that a long history before the last compaction is not decoded for it.
func (s *snapshot) readState(ctx context.Context, branch []int32, v *View) error {
	rd := newRowReader(s)
	var level, model bool
	for i := len(branch) - 1; i >= 0 && !(level && model); i-- {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		r := &s.rows[branch[i]]
		wanted := r.kind == kindThinking && !level || (r.kind == kindModelChange || r.kind == kindAssistant) && !model
		if !wanted {
			continue
		}
		e, err := rd.entry(branch[i])
		if err != nil {
			return err
		}
		v.track(&e)
		level = level || r.kind == kindThinking
		model = model || r.kind != kindThinking
	}
	return nil
}

func (s *snapshot) lastCompaction(branch []int32) int {
	for i := len(branch) - 1; i >= 0; i-- {
		if s.rows[branch[i]].kind == kindCompaction {
			return i
		}
	}
	return -1
}

// keptFrom returns the position in branch of the first row that the compaction at position last
// keeps; last itself when it keeps none.
func (s *snapshot) keptFrom(branch []int32, last int) int {
	if kept := s.keptRow(branch[last]); kept != none {
		if i := slices.Index(branch[:last], kept); i >= 0 {
			return i
		}
	}
	return last
}

// newest is the latest time of rows[from:], or of the last row before that has one. It is what is
// known of a compaction whose row has no time: it came after what it kept and before all later
// rows.
func (s *snapshot) newest(rows []int32, from int) time.Time {
	var newest time.Time
	r := newRowReader(s)
	for i := len(rows) - 1; i >= 0 && (i >= from || newest.IsZero()); i-- {
		e, err := r.entry(rows[i])
		if err != nil {
			continue // who needs the row reports it
		}
		m, _ := e.InView()
		for _, t := range []time.Time{e.Timestamp, m.Timestamp} {
			if t.After(newest) {
				newest = t
			}
		}
	}
	return newest
}

// withMessages drops the rows that never contribute a message.
func (s *snapshot) withMessages(branch []int32) []int32 {
	out := make([]int32, 0, len(branch))
	for _, i := range branch {
		switch s.rows[i].kind {
		case kindMessage, kindAssistant, kindCustomMessage, kindBranchSummary:
			out = append(out, i)
		}
	}
	return out
}

// extend returns the view after the entries were appended under the leaf of the snapshot that v
// belongs to; nil when it has to be built anew. The list shares v's memory: nobody else appends
// to it, because what is lent is clipped and only the newest snapshot is extended.
func (v *View) extend(entries []Entry, gen Generation) *View {
	if v == nil || gen != v.Generation {
		return nil
	}
	out := *v
	for i := range entries {
		if entries[i].Side {
			continue
		}
		out.track(&entries[i])
		out.show(&entries[i])
	}
	return &out
}
