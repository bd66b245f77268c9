package hosttest

import (
	"context"
	"slices"
	"strings"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

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
		s.engines[w[0]].Fail(w[1], f)
	}
}

// answer changes what an engine's Assemble, Compact or Maintain does.
func (s *stage) answer(w []string) {
	p := s.engines[w[0]]
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
