package hosttest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// script adds steps to the model's script.
func (s *stage) script(w []string) {
	usage, words := usageOf(w[1:])
	switch w[0] {
	case "reply":
		s.model.Add(ReplyUsing(strings.Join(words, " "), usage))
	case "calls":
		calls := calls(words)
		s.model.Add(func(context.Context, host.Request) (message.Message, error) {
			m := message.Assistant(calls...)
			m.Usage = usage
			return m, nil
		})
	case "empty": // no room for an answer
		s.model.Add(func(context.Context, host.Request) (message.Message, error) {
			m := message.Assistant()
			m.StopReason, m.Usage = message.StopLength, usage
			return m, nil
		})
	case "error": // an answer that is an error
		s.model.Add(func(context.Context, host.Request) (message.Message, error) {
			m := message.Assistant()
			m.StopReason, m.ErrorMessage = message.StopError, strings.Join(w[1:], " ")
			return m, nil
		})
	case "fail":
		s.model.Add(Fail(providerError(w[1:])))
	case "broken":
		s.model.Add(Broken(errors.New("connection lost"), pieces(words)...))
	case "partial":
		s.model.Add(Partial(pieces(words)...))
	case "always": // once the steps are used up
		s.model.mu.Lock()
		s.model.rest = ReplyUsing(strings.Join(words, " "), usage)
		s.model.mu.Unlock()
	case "hang":
		s.model.Add(Hang())
	case "panic":
		s.model.Add(func(context.Context, host.Request) (message.Message, error) { panic("model") })
	default:
		s.t.Fatalf("unknown model step %q", w[0])
	}
}

// usageOf finds "usage=N" and returns the other words.
func usageOf(w []string) (*message.Usage, []string) {
	var usage *message.Usage
	var rest []string
	for _, word := range w {
		if n, ok := strings.CutPrefix(word, "usage="); ok {
			usage = &message.Usage{Input: number(n), Total: number(n)}
		} else {
			rest = append(rest, word)
		}
	}
	return usage, rest
}

// pieces are the blocks of an answer: the words, and the calls among them.
func pieces(w []string) []message.Block {
	text := slices.DeleteFunc(slices.Clone(w), func(word string) bool { return strings.Contains(word, ":") })
	return append([]message.Block{message.Text(strings.Join(text, " "))}, calls(w)...)
}

// calls reads the words with a colon: id and tool.
func calls(w []string) []message.Block {
	var out []message.Block
	for _, word := range w {
		if id, tool, ok := strings.Cut(word, ":"); ok {
			out = append(out, message.ToolCall(id, tool, nil))
		}
	}
	return out
}

func (s *stage) fail(w []string) {
	kinds := map[string]Fault{
		"error": Failing, "panic": Panicking, "decline": Declining, "hang": Hanging, "fine": Fine,
		"slow": func(context.Context) error { <-time.After(5 * time.Second); return nil },
		"deaf": func(context.Context) error { <-time.After(time.Hour); return nil },
	}
	s.require(slices.Contains(tapeNames(), w[1]), "unknown hook %q", w[1])
	for _, kind := range w[2:] {
		f, ok := kinds[kind]
		s.require(ok, "unknown fault %q", kind)
		s.probes[w[0]].Fail(w[1], f)
	}
}

// answer changes what an engine's Assemble, Compact or Maintain does.
func (s *stage) answer(w []string) {
	p := s.probes[w[0]]
	switch w[1] {
	case "assemble":
		p.OnAssemble = s.assembly(w[2:])
	case "compact":
		p.OnCompact = s.compaction(p, w[2:])
	case "maintain":
		if w[2] == "ask" {
			p.OnMaintain = func(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
				s.ask(ctx, p, q.Runtime, w[3:])
				return transcript.RewriteResult{}, nil
			}
			return
		}
		p.OnMaintain = func(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
			v, err := q.Log.View(ctx)
			if err != nil {
				return transcript.RewriteResult{}, err
			}
			p.OnMaintain = nil
			return q.Runtime.Rewriter.Rewrite(ctx, firstReplaced(v, w[2]))
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

func (s *stage) compaction(p *Engine, w []string) func(context.Context, ce.CompactParams) (ce.CompactResult, error) {
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
			case "ask":
				s.ask(ctx, p, q.Runtime, nil)
			case "window":
				p.OnAssemble = s.assembly([]string{"tail=" + value})
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

// ask lets an engine ask the host's model, or another one.
func (s *stage) ask(ctx context.Context, p *Engine, rt *ce.RuntimeContext, w []string) {
	r := ce.CompletionRequest{Messages: []message.Message{message.User("note")}}
	if len(w) > 0 {
		r.Model = w[0]
	}
	done, err := rt.Completer.Complete(ctx, r)
	s.tape.Add("%s got %q from the model error=%v", p.About.ID, done.Text, err)
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
		m = message.Assistant(message.ToolCall(w[1], "read", nil))
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
	s.say("  %s %s system=%q tools=%v", what, SaidAll(r.Messages), r.System.String(), tools)
}

func (s *stage) outcome(to *Tape, out host.Outcome, err error) {
	to.Add("  %s reply=%q stored=%s answering=%s error=%v",
		out.Session.SessionID, out.Reply.Text(), SaidAll(out.Messages), out.Engine.Answering, err)
}
