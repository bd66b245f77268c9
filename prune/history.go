package prune

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// HistoryLimit returns the pass that keeps the last userTurns user messages with what
// follows them; the first message after what is left out is a user message. What stands
// before the first user or assistant message, such as a summary, is kept. A user message that
// holds tool results belongs to the turn of their calls. Zero or less is no limit.
//
// Each new turn moves the beginning of the list; [BatchedHistoryLimit] does so rarely.
func HistoryLimit(userTurns int) Pass {
	return passFunc(func(ms []message.Message, _ Input) []message.Message {
		return keepTurns(ms, userTurns, userTurns)
	})
}

// BatchedHistoryLimit is HistoryLimit for providers with a prompt cache: it lets the list
// grow to one and a half times userTurns and then leaves out a whole batch, so that the
// beginning of the list stays the same in between.
func BatchedHistoryLimit(userTurns int) Pass {
	return passFunc(func(ms []message.Message, _ Input) []message.Message {
		most := (3*userTurns + 1) / 2
		users := countUsers(ms)
		if userTurns <= 0 || users <= most {
			return ms
		}
		return keepTurns(ms, userTurns, userTurns+(users-userTurns)%(most-userTurns+1))
	})
}

func countUsers(ms []message.Message) int {
	n := 0
	for i := range ms {
		if beginsTurn(&ms[i]) {
			n++
		}
	}
	return n
}

// beginsTurn: a user message that answers calls belongs to the turn of the calls.
func beginsTurn(m *message.Message) bool {
	return m.Role == message.RoleUser && !slices.ContainsFunc(m.Content, func(b message.Block) bool {
		return b.Type == message.BlockToolResult
	})
}

// keepTurns keeps the last turns user messages; limit says whether there is a limit.
func keepTurns(ms []message.Message, limit, turns int) []message.Message {
	if limit <= 0 {
		return ms
	}
	start := slices.IndexFunc(ms, func(m message.Message) bool {
		return m.Role == message.RoleUser || m.Role == message.RoleAssistant
	})
	if start < 0 {
		return ms
	}
	cut := -1
	for i := len(ms) - 1; i >= start; i-- {
		if !beginsTurn(&ms[i]) {
			continue
		}
		if turns == 0 {
			return slices.Concat(ms[:start], ms[cut:])
		}
		turns--
		cut = i
	}
	return ms
}

// HistoryLimits are the limits that a host configures per channel, keyed by its provider,
// such as "telegram". Names are compared without regard to case.
type HistoryLimits map[string]ChannelLimits

// ChannelLimits are the history limits of one channel, in user turns. A limit of 0 is no
// limit; nil leaves the decision to the next wider setting.
type ChannelLimits struct {
	// Turns limits group and channel sessions.
	Turns *int `json:"historyLimit,omitempty"`
	// DirectTurns limits direct sessions.
	DirectTurns *int `json:"dmHistoryLimit,omitempty"`
	// Direct are the limits for direct sessions with one user, by user id.
	Direct map[string]UserLimits `json:"dms,omitempty"`
}

// UserLimits is the history limit for direct sessions with one user, in user turns.
type UserLimits struct {
	Turns *int `json:"historyLimit,omitempty"`
}

// threadSuffix is a part of a conversation in a session key.
var threadSuffix = regexp.MustCompile(`(?i):(?:thread|topic):\d+$`)

// For returns the limit for a session by the kind that its key tells:
// [agent:<id>:]<provider>:<kind>:<peer>[:thread:<n>], where kind is direct or dm, or group
// or channel. ok is false when nothing is configured for the session.
func (l HistoryLimits) For(sessionKey string) (turns int, ok bool) {
	parts := slices.DeleteFunc(strings.Split(sessionKey, ":"), func(s string) bool { return s == "" })
	if len(parts) >= 3 && parts[0] == "agent" {
		parts = parts[2:]
	}
	if len(parts) < 2 {
		return 0, false
	}
	channel, found := l.channel(parts[0])
	if !found {
		return 0, false
	}
	limit := (*int)(nil)
	switch strings.ToLower(strings.TrimSpace(parts[1])) {
	case "dm", "direct":
		limit = channel.direct(strings.Join(parts[2:], ":"))
	case "channel", "group":
		limit = channel.Turns
	}
	if limit == nil {
		return 0, false
	}
	return *limit, true
}

func (l HistoryLimits) channel(provider string) (ChannelLimits, bool) {
	provider = strings.ToLower(strings.TrimSpace(provider))
	if c, ok := l[provider]; ok {
		return c, true
	}
	names := make([]string, 0, len(l))
	for name := range l {
		if strings.ToLower(strings.TrimSpace(name)) == provider {
			names = append(names, name)
		}
	}
	if provider == "" || len(names) == 0 {
		return ChannelLimits{}, false
	}
	return l[slices.Min(names)], true
}

func (c ChannelLimits) direct(peer string) *int {
	peer = threadSuffix.ReplaceAllString(peer, "")
	if u, ok := c.Direct[peer]; ok && peer != "" && u.Turns != nil {
		return u.Turns
	}
	return c.DirectTurns
}
