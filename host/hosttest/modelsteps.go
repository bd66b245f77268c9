package hosttest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/message"
)

// modelSteps adds steps to the model's script.
func (s *stage) modelSteps(w []string) {
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
