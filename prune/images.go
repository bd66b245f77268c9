package prune

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-contextengine/contextengine/message"
)

// keepImageTurns is how many completed turns keep their images (OpenClaw 2026.7.1).
const keepImageTurns = 3

// mediaReference recognises how channels name attached media in a text.
var mediaReference = regexp.MustCompile(
	`(?i)\[media attached(?:\s+\d+/\d+)?:\s*[^\]]+\]|\[image:\s*source:\s*[^\]]+\]|\bmedia://inbound/[^\]\s/\\]+`)

// imageBatch is how many messages with images or media lose them at once.
const imageBatch = 5

// HistoryImages returns the pass that replaces images, and references to media in texts,
// of user messages, custom messages and tool results that the model has worked on: those
// before the last three completed turns. A turn is complete when the next message that the
// model sees as the user's follows an answer, so nothing changes within a turn.
//
// Messages lose them in batches of five, the oldest first, so that the beginning of the list
// stays the same for a while; up to four messages of earlier turns keep theirs meanwhile.
func HistoryImages() Pass { return &historyImages{} }

type historyImages struct {
	mu   sync.Mutex
	memo memo
	upTo []int // how many messages have media, up to and with each of memo
	edge int   // how many messages of memo lose their media
}

// Apply implements Pass.
func (p *historyImages) Apply(ms []message.Message, _ Input) []message.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.memo.prefix(ms)
	p.count(ms, n)
	edge := p.edgeOf(pastTurns(ms, keepImageTurns))
	if edge != p.edge {
		n = min(n, edge, p.edge)
	}
	p.edge = edge
	p.memo.cut(n)
	for i := n; i < len(ms); i++ {
		m, v := ms[i], kept
		if i < edge && mayHoldMedia(&ms[i]) {
			m, v = withoutMedia(&ms[i])
		}
		p.memo.add(ms[i], m, v)
	}
	return p.memo.result(ms)
}

// count brings upTo up to date for a list whose first n messages it knows.
func (p *historyImages) count(ms []message.Message, n int) {
	p.upTo = p.upTo[:n]
	all := 0
	if n > 0 {
		all = p.upTo[n-1]
	}
	for i := n; i < len(ms); i++ {
		if mayHoldMedia(&ms[i]) && holdsMedia(&ms[i]) {
			all++
		}
		p.upTo = append(p.upTo, all)
	}
}

// edgeOf is the end of the last full batch before message past.
func (p *historyImages) edgeOf(past int) int {
	if past == 0 {
		return 0
	}
	batches := p.upTo[past-1] / imageBatch
	if batches == 0 {
		return 0
	}
	i, _ := slices.BinarySearch(p.upTo, batches*imageBatch)
	return i + 1
}

func mayHoldMedia(m *message.Message) bool {
	return m.Role == message.RoleUser || m.Role == message.RoleToolResult || m.Role == message.RoleCustom
}

func holdsMedia(m *message.Message) bool {
	return slices.ContainsFunc(m.Content, func(b message.Block) bool {
		return b.Type == message.BlockImage || b.Type == message.BlockText && namesMedia(b.Text)
	})
}

// pastTurns is where the last keep completed turns begin, 0 when there are no more.
func pastTurns(ms []message.Message, keep int) int {
	complete, ended, answered := 0, false, false
	for i := len(ms) - 1; i >= 0; i-- {
		switch {
		case ms[i].Role == message.RoleAssistant:
			answered = true
		case startsTurn(&ms[i]):
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
func withoutMedia(m *message.Message) (message.Message, verdict) {
	return withBlocks(m, func(b message.Block) (message.Block, bool) {
		switch {
		case b.Type == message.BlockImage:
			return message.Text(SeenImageText), true
		case b.Type == message.BlockText && namesMedia(b.Text):
			b.Text = mediaReference.ReplaceAllLiteralString(b.Text, SeenMediaText)
			return b, true
		}
		return b, false
	})
}

func namesMedia(s string) bool {
	return !isSummary(s) && (strings.Contains(s, "://inbound/") || strings.IndexByte(s, '[') >= 0) && mediaReference.MatchString(s)
}

// isSummary recognises the text of a summary that has become a user message.
func isSummary(text string) bool { return strings.Contains(text, "\n<summary>\n") }
