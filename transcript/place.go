package transcript

import (
	"fmt"
	"time"

	"github.com/go-contextengine/contextengine/message"
)

// place fills in ids, parents, times and keys, and lets the redaction see every message.
func (s *session) place(entries []Entry) error {
	taken := make(map[string]bool, len(entries))
	parent := s.rowID(s.t.canonical(s.t.under))
	for i := range entries {
		e := &entries[i]
		if err := s.checkTarget(*e, taken); err != nil {
			return err
		}
		if e.Timestamp.IsZero() {
			e.Timestamp = s.now().UTC().Truncate(time.Millisecond)
		}
		e.dropReserved()
		if e.ID == "" {
			e.Key = ""
		}
		if err := s.identify(e, taken); err != nil {
			return err
		}
		s.redactEntry(e)
		e.ParentID = parent
		e.settle(e.Key)
		if !e.Side {
			parent = e.ID
		}
	}
	return nil
}

// identify gives e its id.
func (s *session) identify(e *Entry, taken map[string]bool) error {
	used := func(id string) bool { return s.t.taken(id) || taken[id] }
	derived := ""
	if s.derive != nil {
		derived = s.derive(e)
	}
	switch {
	case e.ID != "":
		if used(e.ID) {
			return fmt.Errorf("entry id %q is taken", e.ID)
		}
	case derived != "" && !used(derived):
		e.ID = derived
	default:
		e.ID = s.freeID(used)
	}
	taken[e.ID] = true
	return nil
}

// freeID tries short ids first.
func (s *session) freeID(used func(string) bool) string {
	const tries = 100
	for range tries {
		if id := s.newID(); id != "" && !used(id) {
			return id
		}
	}
	return newUUID(s.now())
}

// checkTarget makes sure that a label names something.
func (s *session) checkTarget(e Entry, taken map[string]bool) error {
	if e.Type != EntryLabel {
		return nil
	}
	target := e.Field("targetId")
	if _, ok := s.t.ids[target]; !ok && !taken[target] {
		return &EntryNotFoundError{ID: target}
	}
	return nil
}

// redactEntry lets the redaction see what e says. What the caller handed in is not changed.
func (s *session) redactEntry(e *Entry) {
	switch {
	case e.Message != nil:
		m := *e.Message
		m.Timestamp = orTime(m.Timestamp, e.Timestamp)
		m = s.redacted(m)
		e.Message = &m
	case s.redact == nil:
	case e.Compaction != nil:
		c := *e.Compaction
		c.Summary = s.redacted(compactionMessage(*e)).Summary
		e.Compaction = &c
	case e.Summary != nil:
		b := *e.Summary
		b.Summary = s.redacted(branchSummaryMessage(*e)).Summary
		e.Summary = &b
	case e.Type == EntryCustomMessage:
		m := s.redacted(customMessage(*e))
		e.Extra = withoutFields(e.Extra, "content", "display", "details") // what m lacks is to go
		if row, err := customRow(*e, m); err == nil {
			*e = row
		}
	}
}

// settle fills in what follows from the id. key is "" where it is the id.
func (e *Entry) settle(key string) {
	if key == "" {
		key = e.ID
	}
	e.Key = key
	if e.Message != nil {
		e.Message.Key = key
	}
	if e.Compaction != nil {
		c := *e.Compaction
		if c.FirstKeptEntryID == "" {
			c.FirstKeptEntryID = e.ID
		}
		c.Through = ""
		e.Compaction = &c
	}
}

func orTime(t, other time.Time) time.Time {
	if t.IsZero() {
		return other
	}
	return t
}

func (s *session) redacted(m message.Message) message.Message {
	if s.redact == nil {
		return m
	}
	return s.redact(m)
}

func (s *session) rowID(i int32) string {
	if i == none {
		return ""
	}
	return s.t.rows[i].id
}

// dropReserved drops members that would be mistaken for this package's own.
func (e *Entry) dropReserved() {
	for _, name := range [...]string{"type", "id", "parentId", "appendMode", fieldOwn} {
		if _, ok := e.Extra[name]; ok {
			e.Extra = withoutFields(e.Extra, name)
		}
	}
}
