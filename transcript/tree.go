package transcript

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/go-contextengine/contextengine/message"
)

// currentVersion is the file format that is written.
const currentVersion = 3

// none is the index of no row.
const none = int32(-1)

// A row is what a log knows of an entry without holding it: where it is and how it hangs in the
// tree. Published rows never change.
type row struct {
	id     string
	key    string // message key where it is not the id
	held   *Entry // the entry itself, when it is nowhere else
	off    int64  // position in the file, when it is there
	n      int32
	line   int32
	parent int32 // the row named as parent, opaque and leaf rows included
	kept   int32 // compaction: the first kept row
	kind   kind
	side   bool
	bad    bool // unreadable: only its place in the tree is known
	weak   bool // has its id only while no other row does
	aimed  bool // a leaf row: its parent is its target, whatever it names as parent
}

// bridged reports whether r is transparent in the tree: its children hang under its own parent.
func (r *row) bridged() bool { return r.kind == kindOpaque || r.kind == kindLeaf }

// A tree is the index of a log under construction. It belongs to the log's writer.
type tree struct {
	rows     []row
	ids      map[string]int32 // the last row with that id
	leaf     int32
	under    int32 // where the next row hangs; the leaf, unless a leaf row says otherwise
	gen      Generation
	problems []Problem
	torn     *Problem // the last row, if it is incomplete so far

	waiting map[string][]int32 // rows whose parent has not been seen, by its id
	orphans []Problem          // what to say of them; nil: to be listed anew
	tops    []int32            // by row: a row above it, the row itself at a root
	bridges map[int32]int32    // canonical rows of rows that are bridged, as far as known
	loops   map[int32]int32    // rows that close a circle, with the parent that they name
	dups    map[string]int     // how often an id came again
	chain   [sha256.Size]byte  // over the rows without an id
	copied  int64              // bytes of rows that rewrites appended again
	version int
	shared  bool // rows are published: clone before changing one
}

func newTree(version int) *tree {
	return &tree{
		ids: make(map[string]int32), leaf: none, under: none, version: version,
		waiting: make(map[string][]int32), dups: make(map[string]int),
		bridges: make(map[int32]int32), loops: make(map[int32]int32),
	}
}

func (t *tree) problem(line int32, format string, args ...any) {
	t.problems = append(t.problems, Problem{Line: int(line), Err: fmt.Errorf(format, args...)})
}

// add places a row under what it names as its parent and moves the leaf.
func (t *tree) add(info rowInfo, r row, raw []byte) int32 {
	at := int32(len(t.rows))
	r.kind, r.id, r.key, r.kept = kindOf(info.typ), info.id, info.own.key, none
	r.side, r.weak = info.side || info.void, info.void || info.bad != nil
	if r.kind == kindMessage && info.role == string(message.RoleAssistant) {
		r.kind = kindAssistant
	}
	if info.bad != nil {
		r.kind, r.bad = kindOpaque, true
		t.problems = append(t.problems, Problem{Line: int(r.line), Err: info.bad})
	}
	if !info.hasID {
		r.id = t.deriveID(raw)
	}
	r.parent = t.parentOf(info, r.line, r.id, at)
	t.name(&r, at)
	if r.kind == kindCompaction {
		r.kept = t.keptOf(info, at)
	}
	if r.key != "" {
		t.copied += int64(r.n)
	}
	t.rows = append(t.rows, r)
	t.move(info, at)
	t.tops = append(t.tops, at)
	if p := t.rows[at].parent; p != none {
		t.tops[at] = p
	}
	t.adopt(r.id, at)
	return at
}

// name registers the row's id. The last row with an id owns it; the message key of a row whose id
// was taken already is one of its own, or two messages would look like one.
func (t *tree) name(r *row, at int32) {
	_, known := t.ids[r.id]
	taken := t.taken(r.id)
	if known && r.weak {
		return
	}
	if taken {
		t.dups[r.id]++
		t.problem(r.line, "id %q is used again", r.id)
		if r.key == "" {
			sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", r.id, t.dups[r.id]))
			r.key = hex.EncodeToString(sum[:keyBytes])
		}
	}
	t.ids[r.id] = at
}

// taken reports whether a new row cannot have an id.
func (t *tree) taken(id string) bool {
	i, ok := t.ids[id]
	return ok && !t.rows[i].weak
}

// deriveID gives a row without an id one that follows from the rows before it, so that it is the
// same whenever the file is opened.
func (t *tree) deriveID(raw []byte) string {
	h := sha256.New()
	h.Write(t.chain[:])
	h.Write(raw)
	h.Sum(t.chain[:0])
	full := hex.EncodeToString(t.chain[:])
	for n := 8; n < len(full); n += 8 {
		if _, taken := t.ids[full[:n]]; !taken {
			return full[:n]
		}
	}
	return full
}

func (t *tree) parentOf(info rowInfo, line int32, id string, at int32) int32 {
	switch {
	case t.version < 2 && !info.parentKnown:
		return at - 1
	case !info.parentKnown:
		return t.leaf
	case info.parent == "":
		return none
	}
	if p, ok := t.ids[info.parent]; ok {
		return p
	}
	if info.parent == id {
		t.problem(line, "entry %q is its own parent", id)
		return none
	}
	t.waiting[info.parent] = append(t.waiting[info.parent], at)
	t.orphans = nil
	return none
}

func (t *tree) keptOf(info rowInfo, at int32) int32 {
	if t.version < 2 && info.keptIndex > 0 {
		for i := info.keptIndex - 1; i < len(t.rows); i++ {
			if !t.rows[i].bad {
				return int32(i)
			}
		}
		return none
	}
	if k, ok := t.ids[info.kept]; ok && info.kept != "" {
		return k
	}
	return none
}

// move updates leaf and generation for the row just added. Whatever it does to the view other
// than to make it longer is a new generation.
func (t *tree) move(info rowInfo, at int32) {
	r := &t.rows[at]
	switch {
	case r.kind == kindOpaque || info.void:
	case r.kind == kindLeaf:
		t.control(info, at)
	case r.side:
	default:
		if t.canonical(r.parent) != t.leaf || r.kind == kindCompaction {
			t.gen++
		}
		t.leaf, t.under = at, at
	}
}

// control applies a leaf row. Its id stands for its target from then on.
func (t *tree) control(info rowInfo, at int32) {
	t.gen = max(t.gen+1, info.own.generation)
	target := none
	if info.target != "" {
		k, ok := t.ids[info.target]
		if !ok || k == at {
			t.problem(t.rows[at].line, "leaf row names %q, which is not in the session", info.target)
			return
		}
		target = t.canonical(k)
	} else if !info.targetKnown {
		t.problem(t.rows[at].line, "leaf row has no target")
		return
	}
	t.rows[at].parent, t.rows[at].aimed = target, true
	t.leaf, t.under = target, target
	if info.appendUnder != nil {
		if k, ok := t.ids[*info.appendUnder]; ok {
			t.under = t.canonical(k)
		}
	}
}

// adopt hangs rows that came before their parent under it, unless that would close a circle.
func (t *tree) adopt(id string, at int32) {
	children, ok := t.waiting[id]
	if !ok {
		return
	}
	delete(t.waiting, id)
	t.orphans = nil
	if t.shared {
		t.rows, t.loops, t.shared = slices.Clone(t.rows), maps.Clone(t.loops), false
	}
	for _, c := range children {
		switch {
		case t.rows[c].aimed:
		case t.top(at) == c:
			t.problem(t.rows[c].line, "entry %q is its own ancestor", t.rows[c].id)
			t.loops[c] = at
		default:
			if t.top(t.leaf) == c { // the active branch becomes another one
				t.gen++
			}
			t.rows[c].parent, t.tops[c] = at, at
			if t.rows[c].bridged() {
				clear(t.bridges)
			}
		}
	}
}

// top returns the root above row i. Paths get shorter as they are walked.
func (t *tree) top(i int32) int32 {
	for i != none && t.tops[i] != i {
		t.tops[i] = t.tops[t.tops[i]]
		i = t.tops[i]
	}
	return i
}

// canonical returns the nearest row at or above i that is part of the tree proper.
func (t *tree) canonical(i int32) int32 {
	if i == none || !t.rows[i].bridged() {
		return i
	}
	c, p := i, i
	for c != none && t.rows[c].bridged() {
		if known, ok := t.bridges[c]; ok {
			c = known
			break
		}
		c = t.rows[c].parent
	}
	for p != c && p != none && t.rows[p].bridged() {
		if _, ok := t.bridges[p]; ok {
			break
		}
		t.bridges[p] = c
		p = t.rows[p].parent
	}
	return c
}

func canonical(rows []row, i int32) int32 {
	for i != none && rows[i].bridged() {
		i = rows[i].parent
	}
	return i
}

// orphaned lists the rows whose parent never came.
func (t *tree) orphaned() []Problem {
	if t.orphans != nil || len(t.waiting) == 0 {
		return t.orphans
	}
	for id, rows := range t.waiting {
		for _, i := range rows {
			if !t.rows[i].aimed {
				t.orphans = append(t.orphans, Problem{Line: int(t.rows[i].line), Err: fmt.Errorf("parent %q is not in the session", id)})
			}
		}
	}
	slices.SortFunc(t.orphans, func(a, b Problem) int { return a.Line - b.Line })
	return t.orphans
}

// branchTo returns the rows from the root down to leaf.
func (t *tree) branchTo(leaf int32) []int32 { return path(t.rows, t.loops, leaf) }

// path walks from leaf to the root and returns the rows from there down. In a circle it goes on
// until it would come to a row again.
func path(rows []row, loops map[int32]int32, leaf int32) []int32 {
	var out []int32
	var seen map[int32]bool
	for i := leaf; i != none; {
		if seen[i] {
			break
		}
		if seen != nil {
			seen[i] = true
		}
		if !rows[i].bridged() {
			out = append(out, i)
		}
		next, circle := loops[i]
		if !circle {
			i = rows[i].parent
			continue
		}
		if seen == nil { // from here on it matters what has been walked already
			seen = make(map[int32]bool)
			for w := leaf; w != none; w = rows[w].parent {
				seen[w] = true
			}
		}
		i = next
	}
	slices.Reverse(out)
	return out
}
