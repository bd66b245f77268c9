package prune

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// keepImageTurns is how many completed turns keep their images (OpenClaw 2026.7.1).
const keepImageTurns = 3

// mediaReference recognises how channels name attached media in a text.
var mediaReference = regexp.MustCompile(
	`(?i)\[media attached(?:\s+\d+/\d+)?:\s*[^\]]+\]|\[image:\s*source:\s*[^\]]+\]|\bmedia://inbound/[^\]\s/\\]+`)

// HistoryImages returns the pass that replaces images, and references to media in texts,
// of user messages and tool results that the model has worked on: all before the last
// three completed turns. A turn is complete when the next user message follows an answer,
// so nothing changes within a turn.
func HistoryImages() Pass { return &historyImages{} }

type historyImages struct {
	left leftPass
}

// Apply implements Pass.
func (p *historyImages) Apply(ms []message.Message, _ Input) []message.Message {
	past := pastTurns(ms, keepImageTurns)
	return p.left.run(ms, "", past, func(i int, m *message.Message) (message.Message, verdict) {
		if i < past && (m.Role == message.RoleUser || m.Role == message.RoleToolResult) {
			return withoutMedia(*m)
		}
		return *m, kept
	})
}

// pastTurns is where the last keep completed turns begin, 0 when there are no more.
func pastTurns(ms []message.Message, keep int) int {
	complete, ended, answered := 0, false, false
	for i := len(ms) - 1; i >= 0; i-- {
		switch ms[i].Role {
		case message.RoleAssistant:
			answered = true
		case message.RoleUser:
			if ended && answered {
				complete++
			}
			if complete == keep {
				return i
			}
			ended, answered = true, false
		}
	}
	return 0
}

// withoutMedia replaces images and references to media.
func withoutMedia(m message.Message) (message.Message, verdict) {
	changed := false
	for i := range m.Content {
		b := m.Content[i]
		switch {
		case b.Type == message.BlockImage:
			b = message.Text(SeenImageText)
		case b.Type == message.BlockText && namesMedia(b.Text):
			b.Text = mediaReference.ReplaceAllLiteralString(b.Text, SeenMediaText)
		default:
			continue
		}
		if !changed {
			m.Content, changed = slices.Clone(m.Content), true
		}
		m.Content[i] = b
	}
	if !changed {
		return m, kept
	}
	return withoutForm(m), replaced
}

func namesMedia(s string) bool {
	return (strings.Contains(s, "://inbound/") || strings.IndexByte(s, '[') >= 0) && mediaReference.MatchString(s)
}
