package transcript

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// A Replacement is a new message for an entry.
type Replacement struct {
	// EntryID is the entry's id or its message's key. Blank ones are ignored, and of several for
	// one entry the last counts.
	EntryID string
	Message message.Message
}

// A RewriteRequest asks for messages to be replaced.
type RewriteRequest struct {
	Replacements []Replacement
	// AllowedSuffixEntryIDs guards the rewrite: from the first replaced entry on, the branch may
	// hold only these (ids or keys). nil: the branch as of Generation. With a guard, the entries
	// may also all be on another branch; that one is rewritten and the active one stays.
	AllowedSuffixEntryIDs []string
	// Generation must still hold when the guard is nil, else Reason is "suffix_changed".
	Generation Generation
}

// A RewriteResult says what a rewrite did.
type RewriteResult struct {
	Changed bool
	// BytesFreed sums, over the replaced messages, by how much each got shorter as stored.
	BytesFreed int64
	// RewrittenEntries counts the replaced messages, not the rows re-appended behind them.
	RewrittenEntries int
	// Reason says why nothing changed: one of the Reason constants.
	Reason string
	// LogGrowth is by how many bytes the stored log grew. Negative when rows that earlier rewrites
	// had left behind were removed on the occasion; 0 for logs that are not stored as bytes.
	LogGrowth int64
}

// Why a rewrite changed nothing. The first five are OpenClaw 2026.7.1's.
const (
	ReasonNoReplacements   = "no replacements requested"
	ReasonEmptySession     = "empty session"
	ReasonNoMatch          = "no matching message entries"
	ReasonSpansBranches    = "rewrite targets span multiple branches"
	ReasonSuffixGuard      = "rewrite suffix guard failed"
	ReasonSuffixChanged    = "suffix_changed"    // the generation moved on
	ReasonAlreadyRewritten = "already rewritten" // every message is as requested
)

// Rewrite branches from the parent of the first replaced entry and appends every row from there
// to the leaf again under new ids, with the replaced messages swapped in; references to the old
// ids are carried over, and so are the message keys. The old rows stay in the log, off the active
// branch. All of it is published at once or not at all.
func (h *handle) Rewrite(ctx context.Context, r RewriteRequest) (RewriteResult, error) {
	if h.gone.Load() {
		return RewriteResult{}, errClosed
	}
	return h.s.rewrite(ctx, r)
}

// declined is a rewrite that is not made, for a reason.
type declined struct{ reason string }

func (d declined) Error() string { return d.reason }

func (s *session) rewrite(ctx context.Context, r RewriteRequest) (RewriteResult, error) {
	wanted := wantedReplacements(r.Replacements)
	if len(wanted) == 0 {
		return RewriteResult{Reason: ReasonNoReplacements}, ctx.Err()
	}
	var out RewriteResult
	err := s.write(ctx, func() error {
		p, err := s.planRewrite(ctx, r, wanted)
		if err != nil {
			return err
		}
		b := p.batch(s)
		b.next = func(before *View, now *snapshot) *View { return now.splice(ctx, p, b, before) }
		if err := s.commit(ctx, b); err != nil {
			return err
		}
		out = RewriteResult{Changed: true, BytesFreed: p.freed, RewrittenEntries: p.rewritten, LogGrowth: b.size}
		// A failure leaves the log as it is, complete but longer; the next rewrite tries again.
		if trimmed, err := s.back.trim(s); err == nil {
			out.LogGrowth -= trimmed
		}
		return nil
	})
	var no declined
	if errors.As(err, &no) {
		return RewriteResult{Reason: no.reason}, nil
	}
	return out, err
}

// wantedReplacements drops blank ids and keeps the last replacement of each.
func wantedReplacements(rs []Replacement) []Replacement {
	var wanted []Replacement
	seen := make(map[string]bool, len(rs))
	for _, r := range slices.Backward(rs) {
		if strings.TrimSpace(r.EntryID) != "" && !seen[r.EntryID] {
			seen[r.EntryID] = true
			wanted = append(wanted, r)
		}
	}
	slices.Reverse(wanted)
	return wanted
}

// rewritePlan is what a rewrite appends.
type rewritePlan struct {
	branch    []int32
	first     int // position of the first row to append again
	entries   []Entry
	restore   bool // the active branch is another one and stays
	freed     int64
	rewritten int
	asRead    int // so many entries at the end are as they were read
}

func (s *session) planRewrite(ctx context.Context, r RewriteRequest, wanted []Replacement) (*rewritePlan, error) {
	outdated := r.AllowedSuffixEntryIDs == nil && r.Generation != s.t.gen
	p, targets, err := s.locate(r, wanted)
	if err != nil {
		if outdated {
			err = declined{ReasonSuffixChanged}
		}
		return nil, err
	}
	circle := slices.ContainsFunc(p.branch, func(i int32) bool { _, ok := s.t.loops[i]; return ok })
	if circle { // only a branch that is all new leads back to no old row
		p.first = 0
	}
	if err := s.readSuffix(ctx, p); err != nil {
		return nil, err
	}
	changed := s.swap(p, targets)
	switch {
	case changed < 0:
		return nil, declined{ReasonAlreadyRewritten}
	case outdated:
		return nil, declined{ReasonSuffixChanged}
	case r.AllowedSuffixEntryIDs != nil && !s.allowed(p, r.AllowedSuffixEntryIDs):
		return nil, declined{ReasonSuffixGuard}
	}
	if !circle {
		p.first += changed
		p.entries = p.entries[changed:]
	}
	return p, nil
}

// locate finds the branch and the positions of the wanted entries on it.
func (s *session) locate(r RewriteRequest, wanted []Replacement) (*rewritePlan, map[int]message.Message, error) {
	active := s.t.branchTo(s.t.leaf)
	targets, found := s.targetsOn(active, wanted)
	switch {
	case len(active) == 0:
		return nil, nil, declined{ReasonEmptySession}
	case found == len(wanted):
		return &rewritePlan{branch: active, first: firstOf(targets)}, targets, nil
	case found > 0:
		return nil, nil, declined{ReasonSpansBranches}
	}
	named := s.rowsByName()
	if !slices.ContainsFunc(wanted, func(w Replacement) bool { _, ok := named[w.EntryID]; return ok }) {
		return nil, nil, declined{ReasonNoMatch}
	}
	// Newest allowed row first: the branch that ends there may hold all of them.
	for _, id := range slices.Backward(r.AllowedSuffixEntryIDs) {
		i, ok := named[id]
		if !ok {
			continue
		}
		side := s.t.branchTo(i)
		if targets, found := s.targetsOn(side, wanted); found == len(wanted) {
			return &rewritePlan{branch: side, first: firstOf(targets), restore: true}, targets, nil
		}
	}
	return nil, nil, declined{ReasonSpansBranches}
}

// rowsByName finds the last row with an id or, where no row has it, with a message key.
func (s *session) rowsByName() map[string]int32 {
	named := make(map[string]int32, len(s.t.ids))
	for i := range s.t.rows {
		if key := s.t.rows[i].key; key != "" {
			named[key] = int32(i)
		}
	}
	maps.Copy(named, s.t.ids)
	return named
}

// targetsOn returns the wanted messages by their position on a branch, and how many replacements
// name one. An id counts before a key; of several for one position the last counts.
func (s *session) targetsOn(branch []int32, wanted []Replacement) (map[int]message.Message, int) {
	byID, byKey := make(map[string]int, len(wanted)), make(map[string]int, len(wanted))
	for _, w := range wanted {
		byID[w.EntryID], byKey[w.EntryID] = -1, -1
	}
	for at, i := range branch {
		r := &s.t.rows[i]
		if r.kind != kindMessage && r.kind != kindAssistant {
			continue
		}
		if _, ok := byID[r.id]; ok {
			byID[r.id] = at
		}
		if _, ok := byKey[r.key]; ok {
			byKey[r.key] = at
		}
	}
	out := make(map[int]message.Message, len(wanted))
	found := 0
	for _, w := range wanted {
		at := byID[w.EntryID]
		if at < 0 {
			at = byKey[w.EntryID]
		}
		if at >= 0 {
			out[at] = w.Message
			found++
		}
	}
	return out, found
}

func firstOf(targets map[int]message.Message) int {
	first := -1
	for at := range targets {
		if first < 0 || at < first {
			first = at
		}
	}
	return first
}

// readSuffix decodes the rows from the first target to the leaf.
func (s *session) readSuffix(ctx context.Context, p *rewritePlan) error {
	snap := s.snap.Load()
	entries, err := snap.decodeAll(ctx, p.branch[p.first:])
	if err != nil {
		return err
	}
	p.entries = entries
	return nil
}

// swap puts the replacements in and returns the position in the suffix of the first that makes a
// difference, -1 if none does.
func (s *session) swap(p *rewritePlan, targets map[int]message.Message) int {
	changed := -1
	for k := range p.entries {
		e := &p.entries[k]
		m, ok := targets[p.first+k]
		if !ok {
			continue
		}
		if m.Timestamp.IsZero() {
			m.Timestamp = e.Message.Timestamp
		}
		m = s.redacted(m)
		m.Key = e.Key
		p.rewritten++
		p.asRead = len(p.entries) - 1 - k
		p.freed += max(0, storedSize(*e.Message)-storedSize(m))
		if changed < 0 && !message.Equal(*e.Message, m) {
			changed = k
		}
		e.Message = &m
	}
	return changed
}

func storedSize(m message.Message) int64 {
	raw, err := encodeMessage(m)
	if err != nil { // storing it fails with the same error
		return 0
	}
	return int64(len(raw))
}

func (s *session) allowed(p *rewritePlan, ids []string) bool {
	ok := make(map[string]bool, len(ids))
	for _, id := range ids {
		ok[id] = true
	}
	for _, i := range p.branch[p.first:] {
		if r := &s.t.rows[i]; !ok[r.id] && (r.key == "" || !ok[r.key]) {
			return false
		}
	}
	return true
}

// batch gives the rows new ids and carries references over to them.
func (p *rewritePlan) batch(s *session) *batch {
	b := newBatch(make([]Entry, 0, len(p.entries)+1))
	b.sync, b.read = true, p.asRead
	moved := make(map[string]string, len(p.entries))
	taken := make(map[string]bool, len(p.entries))
	used := func(id string) bool { return s.t.taken(id) || taken[id] }
	parent := ""
	if p.first > 0 {
		parent = s.rowID(p.branch[p.first-1])
	}
	for k, e := range p.entries {
		old := s.rowID(p.branch[p.first+k])
		e.ID = s.freeID(used)
		taken[e.ID], moved[old] = true, e.ID
		e.ParentID, e.Side = parent, false
		e.remap(moved)
		parent = e.ID
		b.entries = append(b.entries, e)
		b.own = append(b.own, rowOwn{})
	}
	if p.restore {
		e := s.leafRow(s.rowID(s.t.leaf))
		b.entries, b.own = append(b.entries, e), append(b.own, rowOwn{generation: s.t.gen + 1})
		b.read++
	}
	marked(b.entries, b.own)
	return b
}

// remap points references at the rows that were appended again.
func (e *Entry) remap(moved map[string]string) {
	switch {
	case e.Compaction != nil:
		if id, ok := moved[e.Compaction.FirstKeptEntryID]; ok {
			c := *e.Compaction
			c.FirstKeptEntryID = id
			e.Compaction = &c
		}
	case e.Summary != nil:
		if id, ok := moved[e.Summary.FromID]; ok {
			e.Summary = &BranchSummary{FromID: id, Summary: e.Summary.Summary}
		}
	case e.Type == EntryLabel:
		if id, ok := moved[e.Field("targetId")]; ok {
			e.Extra = withoutFields(e.Extra, "targetId")
			e.Extra["targetId"] = encodeString(id)
		}
	}
}

// splice makes the view after a rewrite of the one before it, when all that is appended again is
// shown at its end; else nil, and the view is built anew. Unlike an append it copies the list: the
// old one is still in use.
func (s *snapshot) splice(ctx context.Context, p *rewritePlan, b *batch, before *View) *View {
	if before == nil || p.restore {
		return nil
	}
	shown := 0
	for i := range p.entries {
		if p.entries[i].Type == EntryCompaction {
			return nil
		}
		if _, ok := p.entries[i].InView(); ok {
			shown++
		}
	}
	if shown > len(before.Messages) {
		return nil
	}
	out := View{ThinkingLevel: thinkingOff, Generation: s.gen}
	if err := s.readState(ctx, path(s.rows, s.loops, s.leaf), &out); err != nil {
		return nil // the reader that asks for the view gets the error
	}
	out.Messages = slices.Clip(before.Messages[:len(before.Messages)-shown])
	for i := range b.entries {
		out.show(&b.entries[i])
	}
	return &out
}
