package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// A stage is a host with its engines, model and store, driven by a script. See
// testdata/lifecycle/README for the commands.
type stage struct {
	t      *testing.T
	tape   *tape
	store  transcript.Store
	opts   host.Options
	model  *hosttest.Model
	probes map[string]*probe
	host   *host.Host
	turn   *host.Turn
	last   host.Outcome
	cancel context.CancelCauseFunc
	ctx    context.Context
	others sync.WaitGroup

	answers, later tape   // of the present command, and of those that run beside it
	forked         string // id of the session that fork made
}

func newStage(t *testing.T) *stage {
	s := &stage{
		t: t, tape: &tape{}, store: transcript.NewMemory(), model: hosttest.NewModel(),
		probes: map[string]*probe{},
	}
	s.ctx, s.cancel = context.WithCancelCause(t.Context())
	s.opts = host.Options{Registry: &ce.Registry{}, Model: s.model, Estimator: byteCount{}, Uncalibrated: true}
	return s
}

// byteCount counts bytes of text, so that scripts can be reckoned by hand.
type byteCount struct{}

func (byteCount) Text(s string) int             { return len(s) }
func (byteCount) Schema(json.RawMessage) int    { return 0 }
func (byteCount) Message(m message.Message) int { return len(m.Text()) + len(m.Summary) }

// play runs the lines of a section.
func (s *stage) play(section string, commands map[string]func([]string)) {
	for _, line := range strings.Split(section, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		f := commands[words[0]]
		require.NotNil(s.t, f, "unknown command %q", line)
		if s.host != nil {
			s.tape.add("> %s", line)
		}
		f(words[1:])
		synctest.Wait()
		s.flush()
	}
}

// say keeps what a command answers until everything that it set off has settled,
// so that a trace does not depend on who is faster.
func (s *stage) say(format string, args ...any) { s.answers.add(format, args...) }

func (s *stage) flush() {
	for _, line := range s.answers.take() {
		s.tape.add("%s", line)
	}
}

// configuration is what the host section may say.
func (s *stage) configuration() map[string]func([]string) {
	return map[string]func([]string){
		"engine": s.engine,
		"select": func(w []string) { s.opts.Selection = selection(w) },
		"window": func(w []string) {
			b := tokens.Budget{Window: number(w[0]), MinPrompt: 1}
			for _, o := range w[1:] {
				name, value, _ := strings.Cut(o, "=")
				switch name {
				case "reserve":
					b.Reserve = number(value)
				case "output":
					b.Output = number(value)
				}
			}
			s.opts.Models = func(_ context.Context, name string) (host.ModelInfo, error) {
				return host.ModelInfo{Provider: "p", ID: "m" + name, Budget: b}, nil
			}
		},
		"tools": func(w []string) {
			s.opts.Tools = []ce.Tool{}
			for _, name := range w {
				size := 0
				if n, sz, ok := strings.Cut(name, "="); ok {
					name, size = n, number(sz)
				}
				s.opts.Tools = append(s.opts.Tools, hosttest.Tool(name, func(context.Context, json.RawMessage) ([]message.Block, error) {
					if size > 0 {
						return []message.Block{message.Text(strings.Repeat("d", size))}, nil
					}
					return []message.Block{message.Text("data")}, nil
				}))
			}
		},
		"compactor": func(w []string) {
			s.opts.Compactor = &storeCompactor{store: s.store, tape: s.tape, keep: number(w[0]), off: len(w) > 1 && w[1] == "off"}
		},
		"deadlines": func(w []string) {
			d := ce.DefaultDeadlines()
			for _, o := range w {
				name, value, _ := strings.Cut(o, "=")
				limit, err := time.ParseDuration(value)
				require.NoError(s.t, err)
				switch name {
				case "end":
					d.EndOfTurn = limit
				case "assemble":
					d.Assemble = limit
				default:
					s.t.Fatalf("unknown deadline %q", name)
				}
			}
			s.opts.Selection.Deadline = d
		},
		"option": func(w []string) {
			switch w[0] {
			case "deliver-failed":
				s.opts.DeliverFailedTurns = true
			case "check-owners":
				s.opts.CheckOwners = true
			case "soft-threshold":
				s.opts.SoftThreshold = number(w[1])
			case "rescue":
				s.opts.RescueCompaction = true
			case "drop-oldest":
				s.opts.DropOldest = true
			case "calibrate":
				s.opts.Uncalibrated = false
			case "check-mid-turn":
				s.opts.CheckMidTurn = true
			default:
				s.t.Fatalf("unknown option %q", w[0])
			}
		},
	}
}

func (s *stage) engine(w []string) {
	p := newProbe(w[0], 0, s.tape)
	for _, word := range w[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "owns":
			p.info.OwnsCompaction = true
		case "background":
			p.info.TurnMaintenance = ce.MaintenanceBackground
		case "hooks":
			for _, h := range strings.Split(value, ",") {
				set, ok := hookNames()[h]
				require.True(s.t, ok, "unknown hook %q", h)
				p.hooks |= set
			}
		case "requires":
			op, caps, _ := strings.Cut(value, ":")
			p.info.HostRequirements = map[ce.Operation]ce.HostRequirements{
				ce.Operation(op): {Required: []ce.Capability{ce.Capability(caps)}},
			}
		case "tool":
			p.tools = append(p.tools, hosttest.Tool(value, nil))
		default:
			s.t.Fatalf("unknown engine option %q", word)
		}
	}
	s.probes[p.info.ID] = p
	register(s.t, s.opts.Registry, p)
}

func hookNames() map[string]ce.HookSet {
	return map[string]ce.HookSet{
		"bootstrap": ce.HookBootstrap, "maintain": ce.HookMaintain, "ingestBatch": ce.HookIngestBatch,
		"afterTurn": ce.HookAfterTurn, "commitTurn": ce.HookCommitTurn, "sessionEnded": ce.HookSessionEnded,
		"tools": ce.HookTools, "close": ce.HookClose,
	}
}

func selection(w []string) ce.Selection {
	sel := ce.Selection{Engine: w[0]}
	if len(w) > 1 && w[1] == "strict" {
		sel.Policy = ce.Strict
	}
	return sel
}

// actions is what the do section may say.
func (s *stage) actions() map[string]func([]string) {
	return map[string]func([]string){
		"model":  s.script,
		"fail":   s.fail,
		"answer": s.answer,
		"run":    func(w []string) { s.run(&s.answers, w) },
		"go":     func(w []string) { s.others.Go(func() { s.run(&s.later, w) }) },
		"begin":  s.begin,
		"append": s.append,
		"sent":   func([]string) { s.sent() },
		"asked": func([]string) {
			rs := s.model.Requests()
			s.showRequest("asked", rs[len(rs)-1])
		},
		"recover": func(w []string) {
			again, err := s.turn.Recover(s.ctx, errors.New(strings.Join(w, " ")))
			s.say("  recover again=%t error=%v", again, err)
		},
		"end": func(w []string) {
			var failure error
			if len(w) > 0 {
				failure = errors.New(strings.Join(w, " "))
			}
			out, err := s.turn.End(s.ctx, failure)
			s.last = out
			s.outcome(&s.answers, out, err)
		},
		"compact": func(w []string) {
			res, err := s.host.Compact(s.ctx, ref(w[0]), strings.Join(w[1:], " "))
			after := "?"
			before := 0
			if res.Result != nil {
				before = res.Result.TokensBefore
				if res.Result.TokensAfter != nil {
					after = strconv.Itoa(*res.Result.TokensAfter)
				}
			}
			s.say("  result ok=%t compacted=%t reason=%s %d->%s error=%v", res.OK, res.Compacted, res.Reason, before, after, err)
		},
		"endsession": func(w []string) {
			var next ce.SessionRef
			if len(w) > 2 {
				next = ref(w[2])
			}
			s.say("  error=%v", s.host.EndSession(s.ctx, ref(w[0]), ce.Boundary(w[1]), next))
		},
		"select":   func(w []string) { s.host.Select(selection(w)) },
		"register": func(w []string) { register(s.t, s.opts.Registry, s.probes[w[0]]) },
		"fork": func(w []string) {
			log, err := s.store.Fork(s.ctx, w[0], "")
			require.NoError(s.t, err)
			s.forked = log.Header().ID
			require.NoError(s.t, log.Close())
		},
		"status": func(w []string) {
			st := s.host.Status(ref(w[0]))
			s.say("  selected=%s answering=%s window=%d reserve=%d used=%d compactions=%d precheck=%q noProgress=%q",
				st.Engine.Selected, st.Engine.Answering, st.Window, st.Reserve, st.Used, st.Compactions, st.LastPrecheck, st.LastNoProgress)
		},
		"events": func([]string) {
			var ops []string
			for _, e := range s.last.Events {
				ops = append(ops, fmt.Sprintf("%s/%s", e.Operation, e.Outcome))
			}
			s.say("  %s", strings.Join(ops, " "))
		},
		"rewrite": func(w []string) {
			log, err := s.store.Open(s.ctx, w[0])
			require.NoError(s.t, err)
			v, err := log.View(s.ctx)
			require.NoError(s.t, err)
			m := v.Messages[0]
			m.Content = []message.Block{message.Text(w[1])}
			_, err = log.Rewrite(s.ctx, transcript.RewriteRequest{
				Replacements: []transcript.Replacement{{EntryID: m.Key, Message: m}}, Generation: v.Generation,
			})
			require.NoError(s.t, err)
			require.NoError(s.t, log.Close())
		},
		"log": func(w []string) {
			log, err := s.store.Open(s.ctx, w[0])
			if err != nil {
				s.say("  no such session")
				return
			}
			v, err := log.View(s.ctx)
			s.say("  view %s error=%v", saidAll(v.Messages), err)
			require.NoError(s.t, log.Close())
		},
		"advance": func(w []string) {
			d, err := time.ParseDuration(w[0])
			require.NoError(s.t, err)
			<-time.After(d) // the bubble's clock
		},
		"cancel": func([]string) { s.cancel(errors.New("user pressed stop")) },
		"renew":  func([]string) { s.ctx, s.cancel = context.WithCancelCause(s.t.Context()) },
		"wait": func([]string) {
			s.others.Wait()
			for _, line := range s.later.take() {
				s.say("%s", line)
			}
		},
		"close": func([]string) {
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
			defer cancel()
			s.say("  error=%v", s.host.Close(ctx))
		},
	}
}

func (s *stage) input(w []string) (ce.SessionRef, message.Message, *host.TurnOptions) {
	opts := &host.TurnOptions{}
	var text []string
	for _, word := range w[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "heartbeat":
			opts.IsHeartbeat = true
		case "boundary":
			opts.Boundary = ce.Boundary(value)
		case "previous":
			opts.Previous = ref(value)
		case "context":
			opts.Context = []message.Message{message.User(value)}
		case "model":
			opts.Model = value
		case "size":
			text = append(text, strings.Repeat("x", number(value)))
		default:
			text = append(text, word)
		}
	}
	var m message.Message
	if len(text) > 0 {
		m = message.User(strings.Join(text, " "))
	}
	id := w[0]
	if id == "fork" {
		id = s.forked
	}
	r := ref(id)
	if rest, ok := strings.CutPrefix(id, "key:"); ok {
		r.SessionKey, r.SessionID, _ = strings.Cut(rest, ":")
	}
	return r, m, opts
}

func (s *stage) run(to *tape, w []string) {
	r, m, opts := s.input(w)
	out, err := s.host.Run(s.ctx, r, m, opts)
	if to == &s.answers {
		s.last = out
	}
	s.outcome(to, out, err)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}
