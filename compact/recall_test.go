package compact_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// Recall is what is left of facts that were planted into a session, after it was compacted
// again and again. A fact is kept when its identifier stands in what the model still sees:
// the summary and the tail.

const (
	recallRounds = 5
	recallRatio  = 10 // source to summary
	recallTail   = 2_000
	recallFacts  = 12 // planted in each round
)

// factTemplates say facts the way people, models and tools do.
func factTemplates() []struct {
	role message.Role
	text string
} {
	return []struct {
		role message.Role
		text string
	}{
		{message.RoleUser, "Remember that the staging database is db-%s.internal:5432."},
		{message.RoleUser, "Invoices go to /srv/billing/%s/inbox from now on."},
		{message.RoleUser, "Our customer number is %d."},
		{message.RoleUser, "生产服务器的编号是 srv-%s，请记住。"},
		{message.RoleUser, "The spec is at https://wiki.example.org/p/%s and nowhere else."},
		{message.RoleAssistant, "We decided to pin the parser at commit %s."},
		{message.RoleAssistant, "The root cause is in internal/queue/%s.go, where the lock is taken twice."},
		{message.RoleAssistant, "I filed it as OPS-%d."},
		{message.RoleAssistant, "Das Ticket dazu ist in vorgang-%s beschrieben, und zwar ausführlich."},
		{message.RoleToolResult, "created deployment deploy_%s"},
	}
}

// A planter draws facts and remembers their identifiers.
type planter struct {
	rnd *rand.Rand
	ids []string
}

func (p *planter) plant(i int) message.Message {
	templates := factTemplates()
	tpl := templates[i%len(templates)]
	var text, id string
	if strings.Contains(tpl.text, "%d") {
		id = fmt.Sprint(10_000_000 + p.rnd.IntN(89_999_999))
	} else {
		id = fmt.Sprintf("%08x%d", p.rnd.Uint32(), i)
	}
	text = strings.ReplaceAll(strings.ReplaceAll(tpl.text, "%d", id), "%s", id)
	p.ids = append(p.ids, id)
	switch tpl.role {
	case message.RoleUser:
		return message.User(text)
	case message.RoleAssistant:
		return message.Assistant(message.Text(text))
	}
	return message.ToolResult("call_plant_"+id, "deploy", message.Text(text))
}

// insert spreads facts over a round's messages; a planted result gets its call.
func (p *planter) insert(ms []message.Message, n, from int) []message.Message {
	var out []message.Message
	every := max(1, len(ms)/n)
	planted := 0
	next := 0
	for u := range message.Units(ms) {
		out = append(out, ms[u.Start:u.End]...)
		if u.End >= next && planted < n {
			m := p.plant(from + planted)
			if m.Role == message.RoleToolResult {
				out = append(out, message.Assistant(message.ToolCall(m.ToolCallID, "deploy", nil)))
			}
			out = append(out, m)
			planted++
			next = u.End + every
		}
	}
	return out
}

// noise is a working session full of names that do not matter.
func noise(rnd *rand.Rand, turns int) []message.Message {
	words := strings.Fields("the a build test run server file line error value check look change next step queue parser lock table index page user team")
	prose := func(n int) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(words[rnd.IntN(len(words))])
		}
		return b.String() + "."
	}
	var ms []message.Message
	for i := range turns {
		id := fmt.Sprintf("call_%d_%d", i, rnd.IntN(1_000))
		var out strings.Builder
		for range 12 {
			fmt.Fprintf(&out, "/usr/lib/pkg%d/mod%d.go:%d: %s\n", rnd.IntN(500), rnd.IntN(500), rnd.IntN(900), prose(12))
		}
		ms = append(
			ms,
			message.User(prose(15)),
			message.Assistant(message.Text(prose(20)), message.ToolCall(id, "grep", []byte(fmt.Sprintf(`{"path":"/usr/lib/pkg%d"}`, rnd.IntN(500))))),
			message.ToolResult(id, "grep", message.Text(out.String())),
			message.Assistant(message.Text(prose(30))),
		)
	}
	return ms
}

// A knowing summariser is a model of known quality: of the planted identifiers that it is
// shown it repeats a share, in percent.
type knowing struct {
	planter *planter
	share   int
}

func (k knowing) Summarize(_ context.Context, r compact.Request) (compact.Summary, error) {
	var b strings.Builder
	b.WriteString("What was said so far.\n")
	for i, id := range k.planter.ids {
		if strings.Contains(r.Source+r.Previous, id) && i*37%100 < k.share {
			b.WriteString("- " + id + "\n")
		}
	}
	return compact.Summary{Text: b.String()}, nil
}

// measure compacts after each round and counts what is left at the end.
func measure(t *testing.T, rounds [][]message.Message, p *planter, s compact.Summarizer) (kept int) {
	t.Helper()
	store, log := newLog(t)
	for _, ms := range rounds {
		appendAll(t, log, ms...)
		size := tokens.Messages(tokens.ScriptAware(), view(t, log).Messages)
		c := compactor(t, store, &compact.Options{
			KeepRecent: recallTail, MaxSummary: size / recallRatio, Summarizer: s,
		})
		res, err := c.CompactSession(t.Context(), ce.CompactParams{SessionRef: ref(), Trigger: ce.TriggerManual})
		require.NoError(t, err)
		require.True(t, res.Compacted, res.Detail)
	}
	var left strings.Builder
	for _, m := range message.ForModel(view(t, log).Messages) {
		left.WriteString(compact.RenderSource([]message.Message{m}) + "\n")
	}
	for _, id := range p.ids {
		if strings.Contains(left.String(), id) {
			kept++
		}
	}
	return kept
}

func TestRecall(t *testing.T) {
	t.Parallel()
	sessions := map[string]func(rnd *rand.Rand) [][]message.Message{
		"generated": func(rnd *rand.Rand) [][]message.Message {
			var rounds [][]message.Message
			for range recallRounds {
				rounds = append(rounds, noise(rnd, 60))
			}
			return rounds
		},
	}
	for name, ms := range recorded(t) {
		sessions[name] = func(*rand.Rand) [][]message.Message { return inRounds(ms) }
	}
	summarisers := []struct {
		name  string
		make  func(p *planter) compact.Summarizer
		least int // percent
	}{
		{"a model that forgets nothing", func(p *planter) compact.Summarizer { return knowing{p, 100} }, 100},
		{"a model that forgets half", func(p *planter) compact.Summarizer { return knowing{p, 50} }, 50},
		{"a model that forgets all", func(*planter) compact.Summarizer { return brief() }, 10},
		{"extractive", func(*planter) compact.Summarizer { return compact.Extractive() }, 90},
	}
	for name, rounds := range sessions {
		for _, s := range summarisers {
			t.Run(name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(1, 2))
				p := &planter{rnd: rnd}
				planted := make([][]message.Message, 0, recallRounds)
				for i, ms := range rounds(rnd) {
					planted = append(planted, p.insert(ms, recallFacts, i*recallFacts))
				}
				kept := measure(t, planted, p, s.make(p))
				t.Logf("kept %d/%d", kept, len(p.ids))
				require.GreaterOrEqual(t, kept*100, s.least*len(p.ids))
			})
		}
	}
}

// recorded reads the sample sessions, and the session files that a pattern in
// CONTEXTENGINE_RECALL_SESSIONS matches.
func recorded(t *testing.T) map[string][]message.Message {
	t.Helper()
	files, err := filepath.Glob(os.Getenv("CONTEXTENGINE_RECALL_SESSIONS"))
	require.NoError(t, err)
	samples, err := filepath.Glob(filepath.Join("..", "testdata", "sessions", "*.jsonl"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(samples), 2)
	out := map[string][]message.Message{}
	for _, path := range append(files, samples...) {
		log, err := transcript.OpenFile(path, &transcript.DirOptions{ReadOnly: true})
		require.NoError(t, err)
		var ms []message.Message
		for e, err := range log.Branch(t.Context()) {
			require.NoError(t, err)
			if e.Type == transcript.EntryMessage {
				ms = append(ms, *e.Message)
			}
		}
		require.NoError(t, log.Close())
		out[filepath.Base(path)] = ms
	}
	return out
}

// inRounds cuts a session into rounds between units. A session that is too short for
// them is gone through again.
func inRounds(ms []message.Message) [][]message.Message {
	for tokens.Messages(tokens.ScriptAware(), ms) < recallRounds*3*recallTail {
		ms = append(ms, ms...)
	}
	var rounds [][]message.Message
	from := 0
	for i := range recallRounds {
		to := message.SafeCut(ms, len(ms)*(i+1)/recallRounds)
		rounds = append(rounds, ms[from:to])
		from = to
	}
	return rounds
}
