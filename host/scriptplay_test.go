package host_test

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// script adds steps to the model's script.
func (s *stage) script(w []string) {
	switch w[0] {
	case "reply":
		text, usage := strings.Join(w[1:], " "), (*message.Usage)(nil)
		if n, ok := strings.CutPrefix(w[1], "usage="); ok {
			text, usage = strings.Join(w[2:], " "), &message.Usage{Input: number(n), Total: number(n)}
		}
		s.model.Add(hosttest.ReplyUsing(text, usage))
	case "calls":
		var usage *message.Usage
		var blocks []message.Block
		for _, c := range w[1:] {
			if n, ok := strings.CutPrefix(c, "usage="); ok {
				usage = &message.Usage{Input: number(n), Total: number(n)}
				continue
			}
			id, tool, _ := strings.Cut(c, ":")
			blocks = append(blocks, call(id, tool))
		}
		s.model.Add(func(context.Context, host.Request) (message.Message, error) {
			m := message.Assistant(blocks...)
			m.Usage = usage
			return m, nil
		})
	case "fail":
		s.model.Add(hosttest.Fail(errors.New(strings.Join(w[1:], " "))))
	case "hang":
		s.model.Add(hosttest.Hang())
	case "panic":
		s.model.Add(func(context.Context, host.Request) (message.Message, error) { panic("model") })
	default:
		s.t.Fatalf("unknown model step %q", w[0])
	}
}

func (s *stage) fail(w []string) {
	kinds := map[string]fault{
		"error": failing, "panic": panicking, "decline": declining, "hang": hanging, "fine": fine,
		"slow": func(context.Context) error { <-time.After(5 * time.Second); return nil },
		"deaf": func(context.Context) error { <-time.After(time.Hour); return nil },
	}
	for _, kind := range w[2:] {
		f, ok := kinds[kind]
		require.True(s.t, ok, "unknown fault %q", kind)
		s.probes[w[0]].inject(w[1], f)
	}
}

// answer changes what an engine's Assemble, Compact or Maintain does.
func (s *stage) answer(w []string) {
	p := s.probes[w[0]]
	switch w[1] {
	case "assemble":
		p.assemble = s.assembly(w[2:])
	case "compact":
		p.compact = s.compaction(p, w[2:])
	case "maintain":
		p.maintain = func(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
			v, err := q.Log.View(ctx)
			if err != nil {
				return transcript.RewriteResult{}, err
			}
			m := v.Messages[0]
			m.Content = []message.Block{message.Text(w[2])}
			p.maintain = nil
			return q.Runtime.Rewriter.Rewrite(ctx, transcript.RewriteRequest{
				Replacements: []transcript.Replacement{{EntryID: m.Key, Message: m}}, Generation: v.Generation,
			})
		}
	default:
		s.t.Fatalf("no answer for %q", w[1])
	}
}

func (s *stage) assembly(w []string) func(ce.AssembleParams) ce.AssembleResult {
	return func(q ce.AssembleParams) ce.AssembleResult {
		r := ce.AssembleResult{Messages: q.Messages}
		for _, word := range w {
			name, value, _ := strings.Cut(word, "=")
			switch name {
			case "tail":
				r.Messages = message.Tail(q.Messages, number(value))
			case "nil":
				r.Messages = nil
			case "empty":
				r.Messages = []message.Message{}
			case "estimate":
				r.EstimatedTokens = number(value)
			case "add":
				r.SystemPromptAddition = value
			case "may-overflow":
				r.PromptAuthority = ce.AuthorityPreassembly
			}
		}
		return r
	}
}

func (s *stage) compaction(p *probe, w []string) func(context.Context, ce.CompactParams) (ce.CompactResult, error) {
	return func(ctx context.Context, q ce.CompactParams) (ce.CompactResult, error) {
		r := ce.CompactResult{OK: true, Compacted: true}
		for _, word := range w {
			name, value, _ := strings.Cut(word, "=")
			switch name {
			case "bad":
				r.OK = false
			case "noop":
				r.Compacted = false
			case "reason":
				r.Reason = ce.CompactionReason(value)
			case "after":
				n := number(value)
				r.Result = &ce.CompactDetails{TokensBefore: q.CurrentTokens, TokensAfter: &n}
			case "window":
				p.assemble = s.assembly([]string{"tail=" + value})
			case "rotate":
				log, err := s.store.Rotate(ctx, q.SessionID, transcript.Header{ID: value, Boundary: "rotated"})
				if err != nil {
					return r, err
				}
				n := 1
				r.Result = &ce.CompactDetails{SessionID: value, TokensBefore: 2, TokensAfter: &n}
				if err := log.Close(); err != nil {
					return r, err
				}
			}
		}
		return r, nil
	}
}

func (s *stage) begin(w []string) {
	r, m, opts := s.input(w)
	t, err := s.host.Begin(s.ctx, r, m, opts)
	if err != nil {
		s.say("  error=%v", err)
		return
	}
	s.turn = t
}

func (s *stage) append(w []string) {
	var m message.Message
	rest := strings.Join(w[1:], " ")
	switch w[0] {
	case "user":
		m = message.User(rest)
	case "assistant":
		m = message.Assistant(message.Text(rest))
	case "call":
		m = message.Assistant(call(w[1], "read"))
	case "result":
		m = message.ToolResult(w[1], "read", message.Text(strings.Join(w[2:], " ")))
	default:
		s.t.Fatalf("cannot append %q", w[0])
	}
	if err := s.turn.Append(s.ctx, m); err != nil {
		s.say("  error=%v", err)
	}
}

func (s *stage) sent() { s.showRequest("request", s.turn.Request()) }

func (s *stage) showRequest(what string, r host.Request) {
	var tools []string
	for _, tool := range r.Tools {
		tools = append(tools, tool.Name())
	}
	s.say("  %s %s system=%q tools=%v", what, saidAll(r.Messages), r.System.String(), tools)
}

func (s *stage) outcome(to *tape, out host.Outcome, err error) {
	to.add("  %s reply=%q stored=%s answering=%s error=%v",
		out.Session.SessionID, out.Reply.Text(), saidAll(out.Messages), out.Engine.Answering, err)
}

// A storeCompactor keeps the last messages and puts a summary in front.
type storeCompactor struct {
	store transcript.Store
	tape  *tape
	keep  int
	off   bool // only by hand
}

func (c *storeCompactor) CompactSession(ctx context.Context, p ce.CompactParams) (ce.CompactResult, error) {
	c.tape.add("built-in compact trigger=%s current=%d budget=%d active=%t", p.Trigger, p.CurrentTokens, p.TokenBudget, p.ActiveTurn)
	if c.off && p.Trigger != ce.TriggerManual {
		return ce.CompactResult{OK: true, Reason: ce.ReasonDisabled}, nil
	}
	log, err := c.store.Open(ctx, p.SessionID)
	if err != nil {
		return ce.CompactResult{}, err
	}
	defer log.Close()
	v, err := log.View(ctx)
	if err != nil {
		return ce.CompactResult{}, err
	}
	kept := message.Tail(v.Messages, c.keep)
	if len(kept) == len(v.Messages) || kept[0].Key == "" {
		return ce.CompactResult{OK: true, Reason: ce.ReasonNothingToCompact}, nil
	}
	_, err = log.CommitCompaction(ctx, v.Generation, transcript.Compaction{Summary: "SUM", FirstKeptEntryID: kept[0].Key})
	if err != nil {
		return ce.CompactResult{}, err
	}
	return ce.CompactResult{OK: true, Compacted: true, Reason: ce.ReasonCompacted, Result: &ce.CompactDetails{Summary: "SUM"}}, nil
}
