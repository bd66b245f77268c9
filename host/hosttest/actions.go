package hosttest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// actions is what the do section may say.
func (s *stage) actions() map[string]func([]string) {
	return map[string]func([]string){
		"model":      s.modelSteps,
		"fail":       s.fail,
		"answer":     s.answer,
		"run":        func(w []string) { s.run(&s.answers, w) },
		"go":         func(w []string) { s.others.Go(func() { s.run(&s.later, w) }) },
		"begin":      s.begin,
		"append":     s.append,
		"sent":       func([]string) { s.sent() },
		"asked":      func([]string) { s.asked() },
		"recover":    s.recover,
		"end":        s.end,
		"compact":    s.compact,
		"endsession": s.endSession,
		"select":     func(w []string) { s.host.Select(selection(w)) },
		"register":   func(w []string) { s.register(s.engines[w[0]]) },
		"fork":       s.fork,
		"status":     s.status,
		"spent":      s.spent,
		"events":     func([]string) { s.events() },
		"rewrite":    s.rewrite,
		"seed":       s.seed,
		"log":        s.log,
		"advance": func(w []string) {
			d, err := time.ParseDuration(w[0])
			s.must(err)
			<-time.After(d) // the bubble's clock
		},
		"cancel": func([]string) { s.cancel(errors.New("user pressed stop")) },
		"renew":  func([]string) { s.ctx, s.cancel = context.WithCancelCause(s.t.Context()) },
		"wait": func([]string) {
			s.others.Wait()
			for _, line := range s.later.Take() {
				s.say("%s", line)
			}
		},
		"close": s.close,
	}
}

func (s *stage) asked() {
	rs := s.model.Requests()
	s.require(len(rs) > 0, "the model was not asked")
	r := rs[len(rs)-1]
	s.showRequest("asked", r)
	if r.Purpose != "" {
		s.say("  purpose=%q caller=%q model=%q", r.Purpose, r.Caller, r.Model)
	}
}

// slowError is a provider's timeout.
type slowError struct{}

func (slowError) Error() string { return "the provider took too long" }

// Timeout implements net.Error's method.
func (slowError) Timeout() bool { return true }

// providerError is an error with a text, or the timeout.
func providerError(w []string) error {
	if len(w) == 1 && w[0] == "timeout" {
		return slowError{}
	}
	return errors.New(strings.Join(w, " "))
}

func (s *stage) recover(w []string) {
	again, err := s.turn.Recover(s.ctx, providerError(w))
	s.say("  recover again=%t error=%v", again, err)
}

func (s *stage) end(w []string) {
	var failure error
	if len(w) > 0 {
		failure = errors.New(strings.Join(w, " "))
	}
	out, err := s.turn.End(s.ctx, failure)
	s.last = out
	s.outcome(&s.answers, out, err)
}

func (s *stage) compact(w []string) {
	res, err := s.host.Compact(s.ctx, sessionRef(w[0]), strings.Join(w[1:], " "))
	after, before := "?", 0
	if res.Result != nil {
		before = res.Result.TokensBefore
		if res.Result.TokensAfter != nil {
			after = strconv.Itoa(*res.Result.TokensAfter)
		}
	}
	s.say("  result ok=%t compacted=%t reason=%s %d->%s error=%v", res.OK, res.Compacted, res.Reason, before, after, err)
}

func (s *stage) endSession(w []string) {
	var next ce.SessionRef
	if len(w) > 2 {
		next = sessionRef(w[2])
	}
	s.say("  error=%v", s.host.EndSession(s.ctx, sessionRef(w[0]), ce.Boundary(w[1]), next))
}

func (s *stage) fork(w []string) {
	log, err := s.store.Fork(s.ctx, w[0], "")
	s.must(err)
	s.forked = log.Header().ID
	s.must(log.Close())
}

func (s *stage) status(w []string) {
	st := s.host.Status(sessionRef(w[0]))
	s.say("  selected=%s answering=%s window=%d reserve=%d used=%d compactions=%d precheck=%q noProgress=%q",
		st.Engine.Selected, st.Engine.Answering, st.Window, st.Reserve, st.Used, st.Compactions, st.LastPrecheck, st.LastNoProgress)
}

func (s *stage) spent(w []string) {
	sp := s.host.Spent(sessionRef(w[0]))
	s.say("  calls=%d input=%d output=%d", sp.Calls, sp.Input, sp.Output)
}

func (s *stage) events() {
	var ops []string
	for _, e := range s.last.Events {
		ops = append(ops, fmt.Sprintf("%s/%s", e.Operation, e.Outcome))
	}
	s.say("  %s", strings.Join(ops, " "))
}

// seed stores a history: how many messages, of what size; "results": tool results have
// that size, and nothing else.
func (s *stage) seed(w []string) {
	log, err := s.store.Create(s.ctx, transcript.Header{ID: w[0]})
	s.must(err)
	text := strings.Repeat("x", number(w[2]))
	ask, answer, rest := message.User(text), message.Assistant(message.Text(text)), message.Custom("note", message.Text(text))
	for i := range number(w[1]) {
		if len(w) > 3 {
			id := fmt.Sprint("c", i/3)
			ask, answer = message.User("go"), message.Assistant(message.ToolCall(id, "read", nil))
			rest = message.ToolResult(id, "read", message.Text(text))
		}
		m := []message.Message{ask, answer, rest}[i%3]
		m.Timestamp = time.Now()
		_, err := log.Append(s.ctx, transcript.MessageEntry(m))
		s.must(err)
	}
	s.must(log.Close())
}

func (s *stage) rewrite(w []string) {
	log, err := s.store.Open(s.ctx, w[0])
	s.must(err)
	v, err := log.View(s.ctx)
	s.must(err)
	_, err = log.Rewrite(s.ctx, firstReplaced(v, w[1]))
	s.must(err)
	s.must(log.Close())
}

// firstReplaced asks for another text of the first message.
func firstReplaced(v transcript.View, text string) transcript.RewriteRequest {
	m := v.Messages[0]
	m.Content = []message.Block{message.Text(text)}
	return transcript.RewriteRequest{
		Replacements: []transcript.Replacement{{EntryID: m.Key, Message: m}}, Generation: v.Generation,
	}
}

func (s *stage) log(w []string) {
	log, err := s.store.Open(s.ctx, w[0])
	if err != nil {
		s.say("  no such session")
		return
	}
	v, err := log.View(s.ctx)
	s.say("  view %s error=%v", SaidAll(v.Messages), err)
	s.must(log.Close())
}

func (s *stage) close([]string) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	s.say("  error=%v", s.host.Close(ctx))
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
