package turn

import (
	"context"
	"reflect"
	"slices"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// A lentList is a list as an engine gets it. Lists are read-only, but an engine that writes
// into one all the same must not spoil what the host and the engine's stand-in see. So an
// engine gets a copy; the built-in one, which passes on what it gets, does not need it.
type lentList struct{ own, lent []message.Message }

func lendList(e ce.ContextEngine, ms []message.Message) lentList {
	l := lentList{own: ms, lent: ms}
	if len(ms) > 0 && e.Info().ID != ce.LegacyID {
		l.lent = slices.Clip(slices.Clone(ms))
	}
	return l
}

// back returns what an engine answered. Where that is a part of what was lent, as it was,
// it is the host's own memory again: what is known of that need not be found out anew. A
// stand-in passes on a list that the engine before it may have written into, and may still.
func (l lentList) back(list []message.Message, byStandIn bool) []message.Message {
	if len(list) == 0 || len(l.lent) == 0 || &l.own[0] == &l.lent[0] {
		return list
	}
	if byStandIn && len(list) == len(l.lent) && &list[0] == &l.lent[0] {
		return l.own
	}
	for at := range l.lent {
		if &l.lent[at] != &list[0] {
			continue
		}
		own := l.own[at:min(at+len(list), len(l.own))]
		if len(own) == len(list) && slices.EqualFunc(own, list, untouched) {
			return slices.Clip(own)
		}
		break
	}
	return list
}

// untouched reports whether two copies of a message share everything.
func untouched(a, b message.Message) bool {
	switch {
	case len(a.Content) != len(b.Content) || len(a.Content) > 0 && &a.Content[0] != &b.Content[0],
		a.Usage != b.Usage, reflect.ValueOf(a.Extra).UnsafePointer() != reflect.ValueOf(b.Extra).UnsafePointer():
		return false
	}
	return a.Key == b.Key && a.Role == b.Role && a.Timestamp == b.Timestamp &&
		a.ToolCallID == b.ToolCallID && a.ToolName == b.ToolName && a.IsError == b.IsError &&
		a.API == b.API && a.Provider == b.Provider && a.Model == b.Model &&
		a.StopReason == b.StopReason && a.ErrorMessage == b.ErrorMessage &&
		a.Summary == b.Summary && a.TokensBefore == b.TokensBefore
}

// ownViews gives each reader a list of its own.
type ownViews struct{ transcript.Reader }

// View implements [transcript.Reader].
func (r ownViews) View(ctx context.Context) (transcript.View, error) {
	v, err := r.Reader.View(ctx)
	v.Messages = slices.Clone(v.Messages)
	return v, err
}
