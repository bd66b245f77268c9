package prune

import (
	"slices"
	"strings"
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
//
// Names are recognised by what they hold, whatever their case. APIs: anthropic and
// bedrock-converse, google and gemini, responses, mistral, completions; providers:
// mistral, anthropic and bedrock, google and gemini, openai.
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
