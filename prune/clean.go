package prune

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// Assistant messages that OpenClaw writes for its own display, never for a model.
const (
	hostProvider = "openclaw"
	hostMirror   = "delivery-mirror"
	hostInjected = "gateway-injected"
)

// maxImageBytes is the largest image that is sent (OpenClaw 2026.7.1).
const maxImageBytes = 5 << 20

// A cleaner is the first pass of Hygiene: what a provider refuses or a model must not see
// in single messages goes. See [Hygiene] for the rules.
type cleaner struct {
	plainNames bool // tool names may have neither dots nor colons
	rewriter   rewriter
}

// Apply implements Pass.
func (p *cleaner) Apply(ms []message.Message, in Input) []message.Message {
	out, _ := p.applyFrom(ms, in, 0)
	return out
}

func (p *cleaner) applyFrom(ms []message.Message, _ Input, known int) ([]message.Message, int) {
	ask := unknownAsk
	out, stays := p.rewriter.run(ms, known, "", edge{}, func(i int, m *message.Message) (message.Message, verdict) {
		if ask == unknownAsk || m.Role != message.RoleToolResult {
			ask = askOf(ms, i)
		}
		if ms[ask].Failed() && hasCalls(&ms[ask]) {
			return *m, dropped
		}
		return chain(m, replayStep, customStep, callStep, argumentsStep, p.nameStep, contentStep, detailsStep)
	})
	return slices.Clip(out[:len(out)-failedTail(out)]), stays
}

// customStep is for messages that become user messages as they are: what a user message may
// not hold goes, and the message with it when nothing is left.
func customStep(m *message.Message) (message.Message, verdict) {
	if m.Role != message.RoleCustom {
		return *m, kept
	}
	return chain(m, imageStep, func(m *message.Message) (message.Message, verdict) {
		return filtered(m, isNoBlank)
	})
}

const unknownAsk = -1

// askOf is the message to which ms[i] belongs: of a result what stands before its run.
// When that is an answer that broke off after it had begun calls, their arguments may be
// incomplete, so the turn goes with its results.
func askOf(ms []message.Message, i int) int {
	for i > 0 && ms[i].Role == message.RoleToolResult {
		i--
	}
	return i
}

// A step rewrites one message.
type step func(m *message.Message) (message.Message, verdict)

// chain runs steps one after the other.
func chain(m *message.Message, steps ...step) (message.Message, verdict) {
	out, changed := *m, kept
	for _, s := range steps {
		next, v := s(&out)
		if v == dropped {
			return out, dropped
		}
		if v == replaced {
			out, changed = next, replaced
		}
	}
	return out, changed
}

func hasCalls(m *message.Message) bool {
	return slices.ContainsFunc(m.Content, message.Block.IsCall)
}

// CleanReplay removes what must not be replayed: blank user texts, the host's own notes,
// silent replies, and reasoning that was cut off by a length limit. An answer that failed
// before it said anything becomes [FailedText], and goes at the end of the list. It
// returns ms itself when nothing changes.
func CleanReplay(ms []message.Message) []message.Message {
	out := rewriteAll(ms, func(_ int, m *message.Message) (message.Message, verdict) { return replayStep(m) })
	return slices.Clip(out[:len(out)-failedTail(out)])
}

func replayStep(m *message.Message) (message.Message, verdict) {
	switch m.Role {
	case message.RoleUser:
		if len(m.Content) == 0 {
			return *m, dropped
		}
		return filtered(m, isNoBlank)
	case message.RoleAssistant:
		return replayAssistant(m)
	}
	return *m, kept
}

func replayAssistant(m *message.Message) (message.Message, verdict) {
	if m.Provider == hostProvider && (m.Model == hostMirror || m.Model == hostInjected) {
		return *m, dropped
	}
	if isBare(m) && isBlank(m.Text()) {
		return *m, dropped
	}
	out, v := filtered(m, func(b *message.Block) bool { return b.Type != message.BlockText || !isSilent(b.Text) })
	switch {
	case len(m.Content) == 0 && saidNothing(m):
		out.Content = []message.Block{message.Text(FailedText)}
		return withoutForm(out), replaced
	case len(m.Content) == 0:
		return *m, kept
	case v == dropped:
		return *m, dropped
	case out.StopReason == message.StopLength && isOnlyThinking(&out):
		return *m, dropped
	}
	return out, v
}

func isOnlyThinking(m *message.Message) bool {
	thought := false
	for i := range m.Content {
		switch b := &m.Content[i]; {
		case isThinking(b):
			thought = true
		case b.Type != message.BlockText || !isBlank(b.Text):
			return false
		}
	}
	return thought
}

// isBare reports whether the content was written as a bare string.
func isBare(m *message.Message) bool {
	form, ok := m.Extra[keyContent]
	return ok && len(form) > 0 && form[0] == '"'
}

// saidNothing reports whether an empty answer is a failure: an error, or an end for which
// the provider counted nothing.
func saidNothing(m *message.Message) bool {
	if m.StopReason == message.StopError {
		return true
	}
	u := m.Usage
	return m.StopReason == message.StopEnd && u != nil && u.Input+u.Output+u.CacheRead+u.CacheWrite+u.Total == 0
}

// failedTail counts the messages at the end that stand for failed answers: a request that
// ends with one would have the model continue it.
func failedTail(ms []message.Message) int {
	n := 0
	for i := len(ms) - 1; i >= 0; i-- {
		m := &ms[i]
		if m.Role != message.RoleAssistant || !saidNothing(m) ||
			len(m.Content) > 1 || len(m.Content) == 1 && m.Content[0].Text != FailedText {
			break
		}
		n++
	}
	return n
}

// isSilent recognises a reply that says that there is none, bare or as an action object.
func isSilent(text string) bool {
	text = strings.TrimSpace(text)
	if len(text) < len(message.SilentReply) || len(text) > 8*len(message.SilentReply) {
		return false
	}
	if strings.EqualFold(text, message.SilentReply) {
		return true
	}
	if text[0] != '{' || !strings.Contains(text, message.SilentReply) {
		return false
	}
	var object map[string]string
	return json.Unmarshal([]byte(text), &object) == nil && len(object) == 1 &&
		strings.TrimSpace(object["action"]) == message.SilentReply
}

// CleanContent makes content acceptable: blank texts go, a user message or tool result
// that would be empty says [EmptyText], an empty assistant message goes, and images get
// the type that their data shows or become [UnreadableImageText]. It returns ms itself
// when nothing changes.
func CleanContent(ms []message.Message) []message.Message {
	return rewriteAll(ms, func(_ int, m *message.Message) (message.Message, verdict) { return contentStep(m) })
}

func contentStep(m *message.Message) (message.Message, verdict) {
	if m.Role != message.RoleUser && m.Role != message.RoleToolResult && m.Role != message.RoleAssistant {
		return *m, kept
	}
	if m.Role == message.RoleUser && isBare(m) {
		return *m, kept
	}
	out, v := chain(m, imageStep, func(m *message.Message) (message.Message, verdict) {
		return filtered(m, isNoBlank)
	})
	if len(m.Content) > 0 && v != dropped {
		return out, v
	}
	if m.Role == message.RoleAssistant {
		return *m, dropped
	}
	out.Content = []message.Block{message.Text(EmptyText)}
	return withoutForm(out), replaced
}

// isNoBlank is false for a text block that says nothing.
func isNoBlank(b *message.Block) bool { return b.Type != message.BlockText || !isBlank(b.Text) }

// filtered keeps the blocks that keep tells; a message that loses all is dropped.
func filtered(m *message.Message, keep func(b *message.Block) bool) (message.Message, verdict) {
	first := slices.IndexFunc(m.Content, func(b message.Block) bool { return !keep(&b) })
	if first < 0 {
		return *m, kept
	}
	out := *m
	out.Content = slices.Clone(m.Content[:first])
	for i := first; i < len(m.Content); i++ {
		if keep(&m.Content[i]) {
			out.Content = append(out.Content, m.Content[i])
		}
	}
	if len(out.Content) == 0 {
		return *m, dropped
	}
	return withoutForm(out), replaced
}

// withBlocks returns m with its blocks as change leaves them; m itself when it changes none.
func withBlocks(m *message.Message, change func(b message.Block) (message.Block, bool)) (message.Message, verdict) {
	var content []message.Block
	for i := range m.Content {
		b, changed := change(m.Content[i])
		if !changed {
			continue
		}
		if content == nil {
			content = slices.Clone(m.Content)
		}
		content[i] = b
	}
	if content == nil {
		return *m, kept
	}
	out := *m
	out.Content = content
	return withoutForm(out), replaced
}

// imageStep corrects the type of images and replaces those that cannot be sent.
func imageStep(m *message.Message) (message.Message, verdict) {
	return withBlocks(m, func(b message.Block) (message.Block, bool) {
		if b.Type != message.BlockImage {
			return b, false
		}
		switch kind := imageType(b.Data); {
		case kind == "" && b.MIMEType == "", base64.StdEncoding.DecodedLen(len(b.Data)) > maxImageBytes:
			return message.Text(UnreadableImageText), true
		case kind != "" && kind != b.MIMEType:
			b.MIMEType = kind
			return b, true
		}
		return b, false
	})
}

// imageType tells the type of an image from the start of its base64, "" when unknown.
func imageType(data string) string {
	for prefix, kind := range map[string]string{
		"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif",
	} {
		if strings.HasPrefix(data, prefix) {
			return kind
		}
	}
	if strings.HasPrefix(data, "UklGR") && len(data) >= 16 && strings.Contains(data[10:16], "XRUJ") {
		return "image/webp"
	}
	return ""
}

// detailsStep takes the details off a tool result: they are for programs.
func detailsStep(m *message.Message) (message.Message, verdict) {
	if m.Role != message.RoleToolResult || m.Extra == nil || len(m.Details()) == 0 || message.IsMissingResult(*m) {
		return *m, kept
	}
	return m.WithExtra("details", nil), replaced
}
