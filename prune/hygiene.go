package prune

import (
	"slices"
	"sync"

	"github.com/go-contextengine/contextengine/message"
)

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
