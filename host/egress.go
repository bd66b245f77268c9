package host

import (
	"context"
	"slices"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

// continuePrompt follows a list after which a model would not know that it is to go on:
// the user's words are in a summary, or the last word was the model's.
const continuePrompt = "Continue from where the conversation stands. Do not start over, and do not repeat what is done."

// egress is the list for the provider: what was assembled, then the turn's own
// messages, through the request-time passes, with the host's context in front of
// the input, in the roles that a model knows, and with calls and results in pairs.
func (t *Turn) egress() []message.Message {
	list := t.passed()
	if t.shortened {
		list, _ = prune.Shorten(list, t.pruneInput(), nil)
	}
	list = t.withContext(list)
	out := t.session.paired.ready(list)
	if len(out) == 0 { // an engine's empty list may be deliberate, an empty request is not
		out = ready(t.own.messages)
	}
	if len(out) == 0 {
		out = ready(message.Tail(t.base, 1))
	}
	if len(out) > 0 && out[0].Role == message.RoleAssistant { // an engine's window may begin anywhere
		out = slices.Concat([]message.Message{message.User(prune.SessionStartText)}, out)
	}
	if (t.again || t.own.awaitsModel()) && t.endsOpen(out) {
		out = append(slices.Clip(out), message.User(continuePrompt))
	}
	return slices.Clip(out)
}

// endsOpen reports whether nothing at the end of what is sent asks the model for
// anything: its own words are there, or a summary.
func (t *Turn) endsOpen(out []message.Message) bool {
	if len(out) > 0 && out[len(out)-1].Role == message.RoleAssistant {
		return true
	}
	list := t.joined()
	return len(list) > 0 && isSummary(list[len(list)-1])
}

// summaries is how many messages at the beginning of a list are summaries.
func summaries(list []message.Message) int {
	n := 0
	for n < len(list) && isSummary(list[n]) {
		n++
	}
	return n
}

// passed is what was assembled and what the turn added, less what had to be left out,
// after the passes. They come last: one may join a summary with what follows it.
func (t *Turn) passed() []message.Message {
	list, in := t.fitting(), t.pruneInput()
	for _, pass := range t.session.passes {
		list = pass.Apply(list, in)
	}
	return list
}

// fitting is what was assembled and what the turn added, less what had to be left out.
func (t *Turn) fitting() []message.Message {
	list := t.joined()
	if t.limit > 0 {
		list, _ = dropOldest(list, summaries(list), t.limit, t.h.meter)
	}
	return list
}

// joined is what was assembled and what the turn added. Where the engine passed the
// history on, it is the view itself, so that what was checked of it need not be again.
func (t *Turn) joined() []message.Message {
	list, rest := t.assembly.Messages, t.own.messages[t.assembly.covered:]
	n := len(list)
	switch {
	case len(rest) == 0:
		return list
	case t.sees(list, rest):
		return t.view
	case t.list == nil:
		t.list = slices.Concat(list, rest)
	}
	t.list = append(t.list, rest[len(t.list)-n:]...)
	return slices.Clip(t.list)
}

// sees reports whether the view is list, in the same memory, and then rest.
func (t *Turn) sees(list, rest []message.Message) bool {
	n := len(list)
	return len(rest) > 0 && startsWith(t.view, list) && len(t.view) == n+len(rest) &&
		t.view[n].Key == rest[0].Key && t.view[len(t.view)-1].Key == rest[len(rest)-1].Key
}

// look takes notice of the view as it is after an append. Without it, joined copies.
func (t *Turn) look(ctx context.Context) {
	t.view = nil
	if view, err := t.log.View(ctx); err == nil {
		t.view = view.Messages
	}
}

// startsWith reports whether list is the beginning of all, in the same memory.
func startsWith(all, list []message.Message) bool {
	return len(list) > 0 && len(list) <= len(all) && &all[0] == &list[0]
}

// withContext puts the host's own messages in front of the input.
func (t *Turn) withContext(list []message.Message) []message.Message {
	if len(t.opts.Context) == 0 {
		return list
	}
	at := t.inputIndex(list)
	return slices.Concat(list[:at], t.opts.Context, list[at:])
}

// inputIndex finds the input in a list, else the last message of the user, else
// the end.
func (t *Turn) inputIndex(list []message.Message) int {
	if t.input != nil {
		if i := slices.IndexFunc(list, func(m message.Message) bool { return m.Key == t.input.Key }); i >= 0 {
			return i
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Role == message.RoleUser {
			return i
		}
	}
	return len(list)
}
