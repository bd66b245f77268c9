package prune

import (
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// DropThinking removes the model's reasoning from all but the last assistant message. A
// message of which nothing is left says [OmittedReasoningText]. It returns ms itself when
// nothing changes.
func DropThinking(ms []message.Message) []message.Message {
	last := lastAssistant(ms)
	return rewriteAll(ms, func(i int, m *message.Message) (message.Message, verdict) {
		if i == last {
			return *m, kept
		}
		return withoutThinking(m, isThinking)
	})
}

const blockRedacted message.BlockType = "redacted_thinking"

func isThinking(b *message.Block) bool {
	return b.Type == message.BlockThinking || b.Type == blockRedacted
}

// withoutThinking removes the blocks of an assistant message that drop tells.
func withoutThinking(m *message.Message, drop func(b *message.Block) bool) (message.Message, verdict) {
	if m.Role != message.RoleAssistant {
		return *m, kept
	}
	out, v := filtered(m, func(b *message.Block) bool { return !drop(b) })
	if v == dropped {
		out.Content = []message.Block{message.Text(OmittedReasoningText)}
		return withoutForm(out), replaced
	}
	return out, v
}

// A thinkingPass keeps of reasoning and signatures what the provider takes back.
type thinkingPass struct {
	rules    policyRules
	rewriter rewriter
}

// Apply implements Pass.
func (p *thinkingPass) Apply(ms []message.Message, in Input) []message.Message {
	out, _ := p.applyFrom(ms, in, 0)
	return out
}

func (p *thinkingPass) applyFrom(ms []message.Message, in Input, known int) ([]message.Message, int) {
	turn := thinkingTurn{rules: p.rules, in: in, ms: ms, latest: lastAssistant(ms), user: lastTurn(ms), compacted: lastCompaction(ms)}
	turn.open = turn.latest >= 0 && (turn.latest == len(ms)-1 || turn.latest > turn.user)
	at := edge{
		at:      max(0, min(turn.latest, turn.user)),
		variant: strconv.Itoa(turn.latest) + " " + strconv.Itoa(turn.user) + " " + strconv.FormatBool(turn.open),
	}
	variant := modelName(in) + "/" + in.API + "/" + strconv.FormatInt(turn.compacted, 10)
	return p.rewriter.run(ms, known, variant, at, turn.step)
}

// A thinkingTurn is what one list tells about its reasoning.
type thinkingTurn struct {
	rules        policyRules
	in           Input
	ms           []message.Message
	latest, user int
	open         bool  // the latest assistant message is at the end or amid its tool calls
	compacted    int64 // time of the last compaction in epoch milliseconds, 0: none
}

func (t *thinkingTurn) step(i int, m *message.Message) (message.Message, verdict) {
	if m.Role != message.RoleAssistant {
		return *m, kept
	}
	if isForeign(m, t.in) {
		return t.foreign(m)
	}
	switch {
	case t.rules.dropReasoning && (i < t.user || !t.open || !hasCalls(m)):
		return withoutThinking(m, isThinking)
	case t.rules.signedThinking && i != t.latest && dropsThinking(t.in.Model):
		return withoutThinking(m, isThinking)
	case t.rules.signedThinking && t.isStale(m):
		return withoutThinking(m, isThinking)
	case t.rules.signedThinking && !(i == t.latest && t.open):
		return withoutThinking(m, func(b *message.Block) bool { return isThinking(b) && isBlank(signatureOf(b)) })
	case t.rules.base64Signatures:
		return withSignatures(m, isBase64)
	}
	return *m, kept
}

// foreign is for an answer of another model: its reasoning and signatures mean nothing to
// this one.
func (t *thinkingTurn) foreign(m *message.Message) (message.Message, verdict) {
	return chain(m,
		func(m *message.Message) (message.Message, verdict) { return withoutThinking(m, isThinking) },
		func(m *message.Message) (message.Message, verdict) {
			return withSignatures(m, func(string) bool { return false })
		})
}

// isStale reports whether an answer is older than the last compaction, which changed what
// its signatures are bound to.
func (t *thinkingTurn) isStale(m *message.Message) bool {
	return t.compacted != 0 && !m.Timestamp.IsZero() && m.Timestamp.UnixMilli() < t.compacted
}

// lastCompaction is the latest time of a compaction summary in epoch milliseconds.
func lastCompaction(ms []message.Message) int64 {
	at := int64(0)
	for i := range ms {
		if ms[i].Role == message.RoleCompactionSummary && !ms[i].Timestamp.IsZero() {
			at = max(at, ms[i].Timestamp.UnixMilli())
		}
	}
	return at
}

// isForeign reports whether another model than the one that is asked wrote m. What is not
// known is no difference.
func isForeign(m *message.Message, in Input) bool {
	differ := func(a, b string) bool { return a != "" && b != "" && !strings.EqualFold(a, b) }
	return differ(m.Model, in.Model) || differ(m.Provider, in.Provider) || differ(m.API, in.API)
}

// withSignatures removes the signatures of texts and calls that keep does not tell.
func withSignatures(m *message.Message, keep func(s string) bool) (message.Message, verdict) {
	return withBlocks(m, func(b message.Block) (message.Block, bool) {
		if b.Signature == "" || isThinking(&b) || keep(b.Signature) {
			return b, false
		}
		b.Signature = ""
		return b, true
	})
}

// signatureOf is what proves a thinking block to its provider.
func signatureOf(b *message.Block) string {
	switch {
	case b.Signature != "":
		return b.Signature
	case b.Type == blockRedacted && b.Data != "":
		return b.Data
	case b.ExtraString("signature") != "":
		return b.ExtraString("signature")
	default:
		return b.ExtraString("thought_signature")
	}
}

func isBase64(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

// Models of Anthropic that keep the reasoning of earlier turns: generation 4 and later.
var (
	claudeFamily     = regexp.MustCompile(`(?:opus|sonnet|haiku|fable)-(\d{1,2})(?:\D|$)`)
	claudeGeneration = regexp.MustCompile(`claude-(\d{1,2})(?:\D|$)`)
)

// dropsThinking reports whether a model refuses the reasoning of earlier turns: Claude
// before generation 4.
func dropsThinking(model string) bool {
	model = strings.ToLower(model)
	if !strings.Contains(model, "claude") {
		return false
	}
	for _, re := range []*regexp.Regexp{claudeFamily, claudeGeneration} {
		if m := re.FindStringSubmatch(model); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil && n >= 4 {
				return false
			}
		}
	}
	return true
}
