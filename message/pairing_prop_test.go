package message_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
)

// requirePaired checks what a provider checks, with code of its own, as far as the options
// promise it.
func requirePaired(t require.TestingT, ms []message.Message, opts *message.RepairOptions) {
	p := pairChecker{t: t, text: words(ms), open: map[string]int{}, known: map[string]bool{}}
	for _, m := range ms {
		if m.Role == message.RoleToolResult {
			require.NotEmpty(t, strings.TrimSpace(m.ToolName), "result without a tool in %s", p.text)
			p.answer(m.ToolCallID)
			continue
		}
		if own, more := p.resultsOf(m); len(own) > 0 && m.Role != message.RoleAssistant {
			for _, id := range own {
				p.answer(id)
			}
			p.inRun = !more
			continue
		}
		p.close(opts)
		p.ask(m)
	}
	if opts == nil || !opts.KeepOpenTail {
		p.close(opts)
	}
}

type pairChecker struct {
	t      require.TestingT
	text   string
	open   map[string]int  // unanswered calls of the group
	known  map[string]bool // ids of all calls so far
	inRun  bool            // results may follow
	failed bool            // the group broke off
}

func (p *pairChecker) answer(id string) {
	require.True(p.t, p.inRun, "result %q apart in %s", id, p.text)
	require.Positive(p.t, p.open[id], "result %q without a call in %s", id, p.text)
	p.open[id]--
}

// ask opens the group of a message; results in it answer calls before them.
func (p *pairChecker) ask(m message.Message) {
	p.failed, p.inRun = m.Failed(), false
	for _, b := range m.Content {
		switch {
		case b.IsCall() && m.Role == message.RoleAssistant:
			p.open[b.ID]++
			p.known[strings.TrimSpace(b.ID)] = true
			p.inRun = true
		case isResultBlock(b):
			if id, ours := p.idOf(b); ours {
				p.answer(id)
			}
		}
	}
}

func (p *pairChecker) close(opts *message.RepairOptions) {
	for id, n := range p.open {
		if opts == nil || opts.FailedTurns != message.FailedTurnsKeep || !p.failed {
			require.Zero(p.t, n, "call %q without a result in %s", id, p.text)
		}
	}
	clear(p.open)
}

func (p *pairChecker) resultsOf(m message.Message) (ids []string, more bool) {
	for _, b := range m.Content {
		if id, ours := p.idOf(b); ours {
			ids = append(ids, id)
		} else {
			more = true
		}
	}
	return ids, more
}

// idOf returns the id of a result block. A provider's own spelling is ours to pair when
// there was a call with its id.
func (p *pairChecker) idOf(b message.Block) (id string, ours bool) {
	if b.Type != "tool_result" {
		return b.ID, isResultBlock(b)
	}
	id = strings.Trim(string(b.Extra["tool_use_id"]), `"`)
	return id, strings.TrimSpace(id) != "" && p.known[strings.TrimSpace(id)]
}

// untouched lists what is no result, which a repair keeps in order.
func untouched(ms []message.Message, opts *message.RepairOptions) string {
	drop := opts != nil && opts.FailedTurns == message.FailedTurnsDrop
	var out []string
	for _, w := range strings.Fields(words(ms)) {
		kind, ids, _ := strings.Cut(w, ":")
		switch kind {
		case "r", "r?", "b", "B":
		case "b+":
			out = append(out, "t")
		case "B+":
			out = append(out, "T")
		case "a", "a!":
			if kind == "a!" && drop {
				continue
			}
			calls := slices.DeleteFunc(strings.Split(ids, ","), func(id string) bool { return strings.HasPrefix(id, "=") })
			out = append(out, kind+":"+strings.Join(calls, ","))
		default:
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

// requireRepaired checks all that a repair promises and returns the repaired list.
func requireRepaired(t require.TestingT, ms []message.Message, opts *message.RepairOptions) []message.Message {
	before := message.Clone(ms)
	out, done := message.RepairPairs(ms, opts)
	require.Equal(t, before, ms, "input untouched")
	requirePaired(t, out, opts)
	require.Equal(t, untouched(ms, opts), untouched(out, opts), "everything else in order")
	again, twice := message.RepairPairs(out, opts)
	require.Zero(t, twice, words(out))
	if len(out) > 0 {
		require.Same(t, &out[0], &again[0])
	}
	if done == (message.Repair{}) && len(ms) > 0 {
		require.Same(t, &ms[0], &out[0])
	}
	return out
}

// everyRepair is each combination of options that changes what a repair does.
func everyRepair() []*message.RepairOptions {
	var all []*message.RepairOptions
	for _, policy := range []message.FailedTurnPolicy{message.FailedTurnsAnswer, message.FailedTurnsKeep, message.FailedTurnsDrop} {
		for _, open := range []bool{false, true} {
			all = append(all, &message.RepairOptions{FailedTurns: policy, KeepOpenTail: open})
		}
	}
	return append(all, nil)
}

// Ids that recur, differ in space only, or are blank; names that are unknown or padded.
func drawToken(t *rapid.T, prefixes ...string) string {
	id := rapid.SampledFrom([]string{"c1", "c1", "c1", "c2", "c2", "_c1", "c1_", "c3", "", "", "_"}).Draw(t, "id")
	name := rapid.SampledFrom([]string{"", "", "@", "@read", "@read", "@exec", "@_read"}).Draw(t, "name")
	return rapid.SampledFrom(prefixes).Draw(t, "prefix") + id + name
}

func drawWord(t *rapid.T) string {
	kind := rapid.SampledFrom([]string{
		"u", "a", "s", "x", "a:", "a:", "a:", "a:", "a!:", "r:", "r:", "r:", "r:", "r?:", "b:", "b+:", "b+:", "B:", "B+:",
	}).Draw(t, "kind")
	prefixes := []string{"", "", "", "~", "^"}
	switch kind {
	case "u", "a", "s", "x":
		return kind
	case "r:":
		return kind + drawToken(t, prefixes[:4]...)
	case "r?:":
		return kind + drawToken(t, "")
	case "a:", "a!:":
		prefixes = []string{"", "", "", "", "", "=", "=~", "=^"}
	}
	var tokens []string
	for range rapid.IntRange(1, 3).Draw(t, "tokens") {
		tokens = append(tokens, drawToken(t, prefixes...))
	}
	if strings.HasPrefix(kind, "a") { // else it would have no call
		at := rapid.IntRange(0, len(tokens)).Draw(t, "call")
		tokens = slices.Insert(tokens, at, drawToken(t, ""))
	}
	return kind + strings.Join(tokens, ",")
}

func drawList(t *rapid.T) []message.Message {
	ms := list(strings.Join(rapid.SliceOfN(rapid.Custom(drawWord), 0, 20).Draw(t, "words"), " "))
	for i := range ms { // some late clocks, some unknown times
		shift := rapid.IntRange(-1, 3).Draw(t, "shift")
		ms[i].Timestamp = ms[i].Timestamp.Add(time.Duration(shift) * 10 * time.Millisecond)
		if shift == 3 {
			ms[i].Timestamp = time.Time{}
		}
		if ms[i].Role == message.RoleToolResult { // with as many blocks as it likes
			ms[i].Content = slices.Repeat(ms[i].Content, rapid.IntRange(0, 2).Draw(t, "blocks"))
		}
	}
	return ms
}

func TestRepairPairs_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := drawList(t)
		for _, opts := range everyRepair() {
			requireRepaired(t, ms, opts)
		}
	})
}

// TestRepairPairs_KeepsWhatPairs: results that name their calls exactly are left alone, in
// whatever order, however alike the calls are.
func TestRepairPairs_KeepsWhatPairs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var calls []string
		for range rapid.IntRange(1, 6).Draw(t, "calls") {
			calls = append(calls, drawToken(t, ""))
		}
		results := rapid.Permutation(calls).Draw(t, "results")
		inBlocks := rapid.IntRange(0, len(results)).Draw(t, "blocks")
		text := "u a:" + strings.Join(calls, ",")
		for _, token := range results[inBlocks:] {
			text += " r:" + strings.TrimRight(token, "@")
		}
		if inBlocks > 0 {
			text += " b+:" + strings.Join(results[:inBlocks], ",")
		}
		ms := list(text + " u")
		for i := range ms { // a result message has a name without space around it
			if ms[i].ToolName = strings.TrimSpace(ms[i].ToolName); ms[i].Role == message.RoleToolResult && ms[i].ToolName == "" {
				ms[i].ToolName = "any"
			}
			for k, b := range ms[i].Content {
				if isResultBlock(b) && b.Name == "" {
					ms[i].Content[k].Name = "tool"
				}
			}
		}
		out, done := message.RepairPairs(ms, nil)
		require.Zero(t, done, "%s\n%s", words(ms), words(out))
	})
}

// drawSession makes a well-formed session whose ids recur from turn to turn.
func drawSession(t *rapid.T) []message.Message {
	turn := rapid.SampledFrom([]string{"u a", "u a:c1 r:c1 a", "u a:c1,c2 r:c2 r:c1 a:c1 r:c1 a", "u a:c1,c2 b+:c1,c2 a", "x", "u a:c3 r:c3 u a"})
	return list(strings.Join(rapid.SliceOfN(turn, 1, 12).Draw(t, "turns"), " "))
}

// TestC1_AnyBoundary cuts sessions twice, at any row, as compactions of other programs do,
// and at a safe one.
func TestC1_AnyBoundary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := drawSession(t)
		first := rapid.IntRange(0, len(ms)).Draw(t, "first boundary")
		second := rapid.IntRange(0, len(ms)-first).Draw(t, "second boundary")
		kept := append(list("s s"), ms[first:][second:]...)
		out, done := message.RepairPairs(kept, nil)
		requirePaired(t, out, nil)
		require.Equal(t, untouched(kept, nil), untouched(out, nil))
		require.Zero(t, done.AddedResults+done.MovedResults, "the end of a well-formed list only has orphans")

		cut := message.SafeCut(ms, first+second)
		safe, done := message.RepairPairs(ms[cut:], nil)
		require.Zero(t, done)
		require.Len(t, safe, len(ms)-cut)
	})
}

func TestUnits_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ms := drawList(t)
		for i := range ms { // whose a provider's own blocks are cannot be said of a part alone
			for k := range ms[i].Content {
				if isResultBlock(ms[i].Content[k]) {
					ms[i].Content[k].Type = message.BlockToolResult
				}
			}
		}
		whole, _ := message.RepairPairs(ms, nil)
		starts := map[int]bool{len(ms): true}
		next := 0
		var parts []message.Message
		for u := range message.Units(ms) {
			require.Equal(t, next, u.Start)
			require.Greater(t, u.End, u.Start)
			next = u.End
			starts[u.Start] = true
			part, _ := message.RepairPairs(ms[u.Start:u.End], nil)
			parts = append(parts, part...)
		}
		require.Equal(t, len(ms), next, "units cover the list")
		require.Equal(t, words(whole), words(parts), "each unit can be repaired alone")

		i := rapid.IntRange(-1, len(ms)+1).Draw(t, "cut")
		down, up := message.SafeCut(ms, i), message.SafeCutAfter(ms, i)
		require.True(t, starts[down] && starts[up], "%d %d", down, up)
		require.True(t, down <= max(i, 0) && up >= min(i, len(ms)))
		tail := message.Tail(ms, i)
		require.GreaterOrEqual(t, len(tail), min(max(i, 0), len(ms)))
		require.True(t, starts[len(ms)-len(tail)])
	})
}

func FuzzRepairPairs(f *testing.F) {
	alphabet := []string{
		"u", "a", "s", "x", "a:c1", "a:c2", "a:c1,c2", "a:c1,c1", "a!:c1", "r:c1", "r:c2", "r?:c1", "b:c1", "b+:c1,c2", "B:c1", "B+:c2",
		"a:c1,_c1", "a:_c1,c1@read", "a:@,@read", "a:@read,_@", "a:@read", "a:=c1,c1,=c1", "a:c1,=_c1", "a!:c1,=^c1,@read",
		"r:_c1", "r:c1@read", "r:~c1_@", "r:@read", "r:@", "r:_@exec", "r?:@read", "r?:_c1",
		"b+:_c1", "b+:@read", "b:@,~c1", "b+:^c1", "b+:^_c1,@exec", "B:^c1,@",
	}
	f.Add([]byte("\x00\x04\x09"))
	f.Add([]byte("\x06\x0d\x0a\x0e"))
	f.Fuzz(func(t *testing.T, program []byte) {
		var chosen []string
		for _, b := range program {
			chosen = append(chosen, alphabet[int(b)%len(alphabet)])
		}
		ms := list(strings.Join(chosen, " "))
		for _, opts := range everyRepair() {
			requireRepaired(t, ms, opts)
		}
	})
}
