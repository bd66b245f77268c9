package hosttest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
)

// configuration is what the host section may say.
func (s *stage) configuration() map[string]func([]string) {
	return map[string]func([]string){
		"engine": s.engine,
		"select": func(w []string) { s.opts.Selection = selection(w) },
		"window": s.window,
		"tools":  s.tools,
		"compactor": func(w []string) {
			s.opts.Compactor = &Compactor{Store: s.store, Tape: s.tape, Keep: number(w[0]), Off: len(w) > 1 && w[1] == "off"}
		},
		"deadlines": s.deadlines,
		"option":    s.option,
	}
}

func (s *stage) window(w []string) {
	m := host.ModelInfo{Provider: "p", Budget: tokens.Budget{Window: number(w[0]), MinPrompt: 1}}
	for _, o := range w[1:] {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "reserve":
			m.Budget.Reserve = number(value)
		case "output":
			m.Budget.Output = number(value)
		case "full":
			m.FullWindow = number(value)
		default:
			s.t.Fatalf("unknown part of a window %q", name)
		}
	}
	s.opts.Models = func(_ context.Context, name string) (host.ModelInfo, error) {
		named := m
		named.ID = "m" + name
		return named, nil
	}
}

func (s *stage) tools(w []string) {
	s.opts.Tools = []ce.Tool{}
	for _, name := range w {
		name, size, sized := strings.Cut(name, "=")
		text := "data"
		if sized {
			text = strings.Repeat("d", number(size))
		}
		s.opts.Tools = append(s.opts.Tools, Tool(name, func(context.Context, json.RawMessage) ([]message.Block, error) {
			return []message.Block{message.Text(text)}, nil
		}))
	}
}

func (s *stage) deadlines(w []string) {
	d := ce.DefaultDeadlines()
	for _, o := range w {
		name, value, _ := strings.Cut(o, "=")
		limit, err := time.ParseDuration(value)
		s.must(err)
		switch name {
		case "end":
			d.EndOfTurn = limit
		case "assemble":
			d.Assemble = limit
		case "compact":
			d.Compact = limit
		case "maintain":
			d.Maintain = limit
		default:
			s.t.Fatalf("unknown deadline %q", name)
		}
	}
	s.opts.Selection.Deadline = d
}

func (s *stage) option(w []string) {
	switch w[0] {
	case "deliver-failed":
		s.opts.DeliverFailedTurns = true
	case "check-owners":
		s.opts.CheckOwners = true
	case "check-mid-turn":
		s.opts.CheckMidTurn = true
	case "soft-threshold":
		s.opts.SoftThreshold = number(w[1])
	case "rescue":
		s.opts.RescueCompaction = true
	case "drop-oldest":
		s.opts.DropOldest = true
	case "no-passes":
		s.opts.Passes = func(ce.SessionRef) []prune.Pass { return nil }
	case "calibrate":
		s.opts.Uncalibrated = false
	case "strict-model": // and its window
		s.opts.Model = &Strict{Model: s.model, Window: number(w[1]), Estimator: ByteCount{}}
	case "stream":
		s.opts.Model = StreamModel{s.model}
	case "built-in": // what the built-in compaction keeps, in tokens, and its summaries
		s.opts.Compaction = &compact.Options{
			KeepRecent: number(w[1]), MinSource: 1, Extractive: compact.PolicyAlways, Summarizer: compact.Extractive(),
			FlushMemory: func(_ context.Context, c compact.Cycle) error {
				s.tape.Add("memory is flushed trigger=%s", c.Trigger)
				return nil
			},
		}
	case "observe":
		s.opts.Observer = watcher{s.tape, w[1:]}
	case "allow-model":
		s.opts.AllowModelOverride = func(_, model string) bool { return model == w[1] }
	default:
		s.t.Fatalf("unknown option %q", w[0])
	}
}

// A watcher puts events of some operations on the tape.
type watcher struct {
	tape *Tape
	ops  []string
}

// Observe implements [host.Observer].
func (o watcher) Observe(_ context.Context, e host.Event) {
	if !slices.Contains(o.ops, e.Operation) {
		return
	}
	line := fmt.Sprintf("event %s %s", e.Operation, e.Outcome)
	if e.Reason != "" {
		line += " " + e.Reason
	}
	if e.InputTokens+e.OutputTokens > 0 {
		line += fmt.Sprintf(" cost=%d+%d", e.InputTokens, e.OutputTokens)
	}
	o.tape.Add("%s", line)
}

func (s *stage) engine(w []string) {
	p := NewEngine(w[0], 0, s.tape)
	for _, word := range w[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "owns":
			p.About.OwnsCompaction = true
		case "background":
			p.About.TurnMaintenance = ce.MaintenanceBackground
		case "hooks":
			for _, h := range strings.Split(value, ",") {
				set, ok := hookNames()[h]
				s.require(ok, "unknown hook %q", h)
				p.Has |= set
			}
		case "requires":
			op, caps, _ := strings.Cut(value, ":")
			p.About.HostRequirements = map[ce.Operation]ce.HostRequirements{
				ce.Operation(op): {Required: []ce.Capability{ce.Capability(caps)}},
			}
		case "tool":
			p.Offers = append(p.Offers, Tool(value, nil))
		default:
			s.t.Fatalf("unknown engine option %q", word)
		}
	}
	s.engines[p.About.ID] = p
	s.register(p)
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
