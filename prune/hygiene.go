package prune

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-contextengine/contextengine/message"
)

// A Policy names the rules by which a provider takes a list of messages. The zero value is
// the rules that every provider shares.
type Policy string

// The policies that this package knows.
const (
	// PolicyCommon pairs calls with results and removes what no provider takes.
	PolicyCommon Policy = ""
	// PolicyAnthropic also wants turns to alternate, a user message first, call ids and tool
	// names of its alphabet, and reasoning to be signed.
	PolicyAnthropic Policy = "anthropic"
	// PolicyGemini also wants turns to alternate, a user message first and plain call ids.
	PolicyGemini Policy = "gemini"
	// PolicyOpenAIChat is for chat completions and providers that copy them: plain call
	// ids and tool names, a user message first, no reasoning of earlier turns.
	PolicyOpenAIChat Policy = "openai-chat"
	// PolicyOpenAIResponses is for the Responses API: plain call ids and tool names.
	PolicyOpenAIResponses Policy = "openai-responses"
	// PolicyMistral is PolicyOpenAIChat with call ids of nine characters.
	PolicyMistral Policy = "mistral"
	// PolicyAuto is for each request the policy that [PolicyFor] names for its Input, for
	// sessions that change their model.
	PolicyAuto Policy = "auto"
)

// Valid reports whether p is one of the constants. Others are treated as PolicyCommon.
func (p Policy) Valid() bool {
	switch p {
	case PolicyCommon, PolicyAnthropic, PolicyGemini, PolicyOpenAIChat, PolicyOpenAIResponses, PolicyMistral, PolicyAuto:
		return true
	}
	return false
}

// PolicyFor returns the policy for a model by its API, else by its provider's name.
// Unknown ones get PolicyCommon.
func PolicyFor(provider, api string) Policy {
	provider, api = strings.ToLower(strings.TrimSpace(provider)), strings.ToLower(strings.TrimSpace(api))
	has := func(s string, parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
	}
	switch {
	case has(api, "anthropic"), has(api, "bedrock-converse"):
		return PolicyAnthropic
	case has(api, "google", "gemini"):
		return PolicyGemini
	case has(api, "responses"):
		return PolicyOpenAIResponses
	case has(provider, "mistral"), has(api, "mistral"):
		return PolicyMistral
	case has(api, "completions"):
		return PolicyOpenAIChat
	case has(provider, "anthropic", "bedrock"):
		return PolicyAnthropic
	case has(provider, "google", "gemini"):
		return PolicyGemini
	case has(provider, "openai"):
		return PolicyOpenAIChat
	default:
		return PolicyCommon
	}
}

// policyRules are the differences between policies.
type policyRules struct {
	ids              IDMode
	plainNames       bool // tool names have neither dots nor colons
	signedThinking   bool // reasoning comes with a signature or not at all
	base64Signatures bool // signatures of other shape are refused
	dropReasoning    bool // the reasoning of earlier turns is refused
	userFirst        bool // an assistant message may not come first
	mergeAssistants  bool
	alternate        bool // users are merged too
}

func (p Policy) rules() policyRules {
	switch p {
	case PolicyAnthropic:
		return policyRules{ids: IDsNative, plainNames: true, signedThinking: true, userFirst: true, alternate: true}
	case PolicyGemini:
		return policyRules{ids: IDsStrict, base64Signatures: true, userFirst: true, mergeAssistants: true}
	case PolicyOpenAIChat:
		return policyRules{ids: IDsStrict, plainNames: true, dropReasoning: true, userFirst: true, alternate: true}
	case PolicyOpenAIResponses:
		return policyRules{ids: IDsStrict, plainNames: true}
	case PolicyMistral:
		return policyRules{ids: IDsNine, plainNames: true, dropReasoning: true, userFirst: true, alternate: true}
	}
	return policyRules{}
}

// Standard returns the passes that a request needs, in their fixed order: [HistoryImages],
// [ToolResults] with their defaults, then [Hygiene]. They belong to one session. Applied to
// their own result, with the same Input, they change nothing, unless the results that
// Hygiene added bring all together above their bound.
func Standard(policy Policy) []Pass {
	return append([]Pass{HistoryImages(), ToolResults(nil)}, Hygiene(policy)...)
}

// Hygiene returns the passes that make a list valid for a provider, in their fixed order.
// They belong to one session. They take any list and leave only user, assistant and
// toolResult messages.
//
//   - Turns in which a heartbeat got no answer but that all is well go. A heartbeat is a
//     prompt that names message.HeartbeatReply, or is marked: a custom message of the type
//     "heartbeat", or a user message whose provenance has that kind.
//   - Blank texts, silent replies, the host's own notes, reasoning that a length limit cut
//     off, unfinished calls and the details of results go. Answers that broke off amid their
//     calls go with the results. What would be empty says so, or goes. Arguments that are no
//     object are put into one, and tools get names that the provider takes.
//   - Reasoning and signatures of another model go; those of the same one are kept as far
//     as the policy allows.
//   - Every call gets its one result (message.RepairPairs), and ids that the provider takes.
//   - Usage from before the last compaction is forgotten: it counted another list.
//   - The rest becomes user messages (message.ForModel), and turns are put in order.
//
// An empty list stays empty, and nothing is added but what a provider demands: a result for
// a call that has none, a text where there would be none, a first user message. Applied to
// its own result, with the same Input, Hygiene changes nothing.
func Hygiene(policy Policy) []Pass {
	if policy == PolicyAuto {
		return []Pass{&autoHygiene{by: map[Policy][]Pass{}}}
	}
	r := policy.rules()
	passes := []Pass{
		&cleaner{plainNames: r.plainNames},
		newQuietPass(),
		&thinkingPass{rules: r},
		passFunc(func(ms []message.Message, _ Input) []message.Message {
			out, _ := message.RepairPairs(ms, nil)
			return out
		}),
	}
	if r.ids != IDsAsTheyAre {
		passes = append(passes, newIDPass(r.ids))
	}
	passes = append(passes,
		&usagePass{},
		passFunc(func(ms []message.Message, _ Input) []message.Message { return message.ForModel(ms) }),
		passFunc(func(ms []message.Message, _ Input) []message.Message { return r.order(ms) }),
	)
	return []Pass{newChain(passes...)}
}

// autoHygiene is Hygiene for PolicyAuto.
type autoHygiene struct {
	mu sync.Mutex
	by map[Policy][]Pass
}

// Apply implements Pass.
func (p *autoHygiene) Apply(ms []message.Message, in Input) []message.Message {
	return Apply(ms, in, p.passes(PolicyFor(in.Provider, in.API))...)
}

func (p *autoHygiene) passes(policy Policy) []Pass {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by[policy] == nil {
		p.by[policy] = Hygiene(policy)
	}
	return p.by[policy]
}

// order puts turns in the order that the provider wants. Failed answers at the end go once
// more: what followed them may have gone meanwhile.
func (r policyRules) order(ms []message.Message) []message.Message {
	ms = ms[:len(ms)-failedTail(ms)]
	if r.userFirst {
		ms = userFirst(ms)
	}
	if r.mergeAssistants || r.alternate {
		ms = MergeAssistants(ms)
	}
	if r.alternate {
		ms = mergeUsers(ms)
	}
	return ms
}

// userFirst puts a user message before a list that begins with an answer.
func userFirst(ms []message.Message) []message.Message {
	if len(ms) == 0 || ms[0].Role != message.RoleAssistant {
		return ms
	}
	first := message.User(SessionStartText)
	first.Timestamp = ms[0].Timestamp
	return slices.Concat([]message.Message{first}, ms)
}

// ForgetStaleUsage removes the usage of assistant messages that are not newer than the last
// compaction: it counted what the summary replaced, so an estimate may not start from it.
// It returns ms itself when nothing changes.
func ForgetStaleUsage(ms []message.Message) []message.Message {
	return new(usagePass).Apply(ms, Input{})
}

// A usagePass is ForgetStaleUsage with a memory.
type usagePass struct {
	left leftPass
}

// Apply implements Pass.
func (p *usagePass) Apply(ms []message.Message, in Input) []message.Message {
	out, _ := p.applyFrom(ms, in, 0)
	return out
}

func (p *usagePass) applyFrom(ms []message.Message, _ Input, known int) ([]message.Message, int) {
	last, at := -1, time.Time{}
	for i := len(ms) - 1; i >= 0 && last < 0; i-- {
		if ms[i].Role == message.RoleCompactionSummary {
			last = i
		}
	}
	if last >= 0 {
		at = ms[last].Timestamp
	}
	of := strconv.Itoa(last) + " " + strconv.FormatInt(at.UnixMilli(), 10)
	return p.left.runFrom(ms, known, of, edge{}, func(i int, m *message.Message) (message.Message, verdict) {
		old := i < last || last >= 0 && !at.IsZero() && !m.Timestamp.IsZero() && !m.Timestamp.After(at)
		if m.Role != message.RoleAssistant || m.Usage == nil || !old {
			return *m, kept
		}
		out := *m
		out.Usage = nil
		return out, replaced
	})
}
