package compact

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// IsContextOverflow reports whether err says that a request was larger than the
// model's context window, so that sending it again is useless and compaction may
// help. nil is no overflow.
//
//   - A [*TooLargeError] anywhere in the chain is one.
//   - Else the text decides, because providers have no common code for it. It is one
//     when either of the two recognisers of OpenClaw 2026.7.1 says so; see
//     [OverflowSigns].
//   - Rate limits, quotas and billing are not overflows, even where they count tokens.
//   - A failed summary request is not: compacting again would fail the same way.
//   - The end of a Go context is not, and neither is asking for too much output nor too
//     much of something else, such as tools, although their texts sound like it.
func IsContextOverflow(err error) bool {
	if err == nil {
		return false
	}
	if tl := (*TooLargeError)(nil); errors.As(err, &tl) {
		return true
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	text := goContext.ReplaceAllString(err.Error(), "")
	s := OverflowSignsOf(text)
	if s.CompactionFailed || !s.Strict && (outputLimit.MatchString(text) || !promptWord.MatchString(text)) {
		return false
	}
	return s.Likely || (s.Reply || moreOverflow.MatchString(text)) && !isVetoed(strings.ToLower(text))
}

// moreOverflow are wordings that neither recogniser knows: the bare status wherever it
// stands in an error that others wrapped, and limits that count characters.
var moreOverflow = regexp.MustCompile(`(?i)\b413\s*(?:status code)?\s*\(no body\)|range of input length should be|` +
	`messages.*string too long\. expected a string with maximum length`)

// promptWord is what an error has to speak of when its wording alone may be about the
// limit of anything: a number of tools, a name, an image.
var promptWord = regexp.MustCompile(`(?i)tokens?\b|\b(?:prompts?|context|window|messages|conversation)\b|` +
	`context[_ ]|too (?:long|large) for .*model|\b413\b|range of input length`)

// outputLimit is the answer to a request for more output than a model gives.
var outputLimit = regexp.MustCompile(`(?i)maximum (?:allowed )?(?:number of )?output tokens|max_(?:output_|completion_)tokens.*(?:too large|at most)`)

// goContext is what Go says of a request that took too long, which speaks of a context
// that something exceeded.
var goContext = regexp.MustCompile(`(?i)context (?:deadline exceeded|cancell?ed)|client\.timeout exceeded[^)]*`)

// ObservedTokens returns the size of the prompt that the provider counted, when err
// tells it. Hosts pass it on as the observed size of the context.
func ObservedTokens(err error) (int, bool) {
	if err == nil {
		return 0, false
	}
	if tl := (*TooLargeError)(nil); errors.As(err, &tl) && tl.Observed > 0 {
		return tl.Observed, true
	}
	n := observedIn(err.Error())
	return n, n > 0
}

// OverflowSigns is what the text of a provider error says about the size of a prompt.
// The recognisers are those of OpenClaw 2026.7.1, which do not agree with each other.
type OverflowSigns struct {
	// Strict: the text names the context window as the reason.
	Strict bool
	// Likely: Strict, or a wording close to it. This one decides about recovery.
	Likely bool
	// Reply: the text counts as an overflow when it ended an assistant message.
	Reply bool
	// CompactionFailed: it was a summary request that overflowed.
	CompactionFailed bool
	// Observed is the prompt size that the text tells, tokens; 0: none.
	Observed int
}

// OverflowSignsOf reads the text of a provider error.
func OverflowSignsOf(text string) OverflowSigns {
	lower := strings.ToLower(text)
	s := OverflowSigns{
		Strict:   isStrictOverflow(lower),
		Likely:   isLikelyOverflow(lower),
		Reply:    isReplyOverflow(text),
		Observed: observedIn(text),
	}
	about := containsAny(lower, "compaction", "summarization failed", "summarisation failed")
	s.CompactionFailed = about && (s.Likely || strings.Contains(lower, "context overflow"))
	return s
}

// ReplyOverflowed reports whether an assistant message tells that its request did not
// fit the window of that many tokens; 0: unknown. Besides failed replies that say so
// there are two silent forms: a reply without calls whose prompt was larger than the
// window, and one that was cut before its first token with the window full.
func ReplyOverflowed(m message.Message, window int) bool {
	if m.StopReason == message.StopError {
		return m.ErrorMessage != "" && isReplyOverflow(m.ErrorMessage)
	}
	prompt, known := promptTokens(m.Usage)
	if window <= 0 || !known {
		return false
	}
	switch m.StopReason {
	case "": // unknown
		return prompt > window && !hasCalls(m)
	case message.StopEnd:
		return prompt > window
	case message.StopLength:
		return m.Usage.Output == 0 && float64(prompt) >= fullWindow*float64(window)
	}
	return false
}

func hasCalls(m message.Message) bool {
	for range m.ToolCalls() {
		return true
	}
	return false
}

// fullWindow is the share of the window from which a reply without output is taken for
// one that had no room (OpenClaw 2026.7.1).
const fullWindow = 0.99

// promptTokens reads a provider's prompt size. Some report it apart, or say that their
// numbers do not describe the context.
func promptTokens(u *message.Usage) (int, bool) {
	if u == nil {
		return 0, false
	}
	report := fieldsOf(u.Extra["contextUsage"])
	switch string(report["state"]) {
	case `"unavailable"`:
		return 0, false
	case `"available"`:
		var prompt *int
		if json.Unmarshal(report["promptTokens"], &prompt) == nil && prompt != nil {
			return *prompt, true
		}
	}
	return u.Input + u.CacheRead, true
}

// SilentOverflowProne reports whether a model is known to accept a prompt larger than
// its window without an error, so that only the reported usage tells (OpenClaw 2026.7.1).
func SilentOverflowProne(provider, model string) bool {
	provider, model = strings.ToLower(strings.TrimSpace(provider)), strings.ToLower(strings.TrimSpace(model))
	return provider == "zai" || strings.HasPrefix(model, "z-ai/") ||
		strings.HasPrefix(model, "openrouter/z-ai/") || strings.HasPrefix(model, "glm-")
}

// isVetoed recognises limits that are not the context window's.
func isVetoed(lower string) bool {
	return isOtherDemand(lower) || billing.MatchString(lower) || rateLimit.MatchString(lower) ||
		windowTooSmall.MatchString(lower)
}

// isOtherDemand recognises the two vetoes that hold even for the strict wordings.
func isOtherDemand(lower string) bool {
	return perMinute.MatchString(lower) || isReasoningDemand(lower)
}

// isReasoningDemand recognises models that insist on reasoning; their texts mention
// limits of a prompt, too.
func isReasoningDemand(lower string) bool {
	return containsAny(lower, "reasoning is mandatory", "reasoning is required", "requires reasoning") ||
		strings.Contains(lower, "reasoning") && strings.Contains(lower, "cannot be disabled")
}

func isStrictOverflow(lower string) bool {
	if isOtherDemand(lower) {
		return false
	}
	all := func(parts ...string) bool {
		for _, p := range parts {
			if !strings.Contains(lower, p) {
				return false
			}
		}
		return true
	}
	aboutWindow := containsAny(lower, "context window", "context length")
	switch {
	case containsAny(
		lower, "request_too_large", "request exceeds the maximum size", "context length exceeded",
		"maximum context length", "prompt is too long", "prompt too long", "exceeds model context window",
		"model token limit", "context overflow:", "exceed context limit",
		"exceeds the model's maximum context", "context_window_exceeded",
		"上下文过长", "上下文超出", "上下文长度超", "超出最大上下文", "请压缩上下文",
	):
		return true
	case all("invalid_argument", "maximum number of tokens"), all("input exceeds", "maximum number of tokens"),
		all("max_tokens", "exceed", "context"), all("input length", "exceed", "context"), all("413", "too large"):
		return true
	case aboutWindow && containsAny(lower, "request size exceeds", "ran out of room", "ran out of space"):
		return true
	}
	return configuredSize.MatchString(lower) || isProviderOverflow(lower)
}

func isProviderOverflow(lower string) bool {
	return overflowSignal.MatchString(lower) && overflowAction.MatchString(lower) &&
		providerOverflow.MatchString(lower)
}

func isLikelyOverflow(lower string) bool {
	switch {
	case isVetoed(lower):
		return false
	case isStrictOverflow(lower):
		return true
	case rateHint.MatchString(lower):
		return false
	}
	return broadOverflow.MatchString(lower)
}

func isReplyOverflow(text string) bool {
	return !replyVeto.MatchString(text) && replyOverflow.MatchString(text)
}

// observedIn extracts a prompt size; 0: none.
func observedIn(text string) int {
	if m := observedSum.FindStringSubmatch(text); m != nil {
		if a, b := count(m[1]), count(m[2]); a > 0 && b > 0 {
			return a + b
		}
	}
	for _, re := range [...]*regexp.Regexp{
		observedMaximum, observedModel, observedRequested, observedLimit, observedResult,
	} {
		if m := re.FindStringSubmatch(text); m != nil {
			if n := count(m[1]); n > 0 {
				return n
			}
		}
	}
	return 0
}

// count reads a number with thousands separators; 0 when it is none.
func count(s string) int {
	n, err := strconv.Atoi(strings.ReplaceAll(s, ",", ""))
	if err != nil {
		return 0
	}
	return n
}

// The wordings of providers. Patterns for lower-cased text are written in lower case.
var (
	perMinute = regexp.MustCompile(`\btpm\b|tokens per minute`)
	billing   = regexp.MustCompile(`\b402\b|payment required|credit balance|billing|insufficient[ _](?:credits?|balance|funds|quota)`)
	rateLimit = regexp.MustCompile(`rate[ _-]?limit|too many requests|exceeded your current quota|quota exceeded|` +
		`resource_exhausted|resource has been exhausted|usage limit|throttl|\b429\b|tokens per day`)
	rateHint = regexp.MustCompile(`rate limit|too many requests|requests per (?:minute|hour|day)|quota|throttl|` +
		`\b429\b|tokens per day`)
	windowTooSmall = regexp.MustCompile(`context window.*(?:too small|minimum is)`)

	configuredSize = regexp.MustCompile(`(?:exceed|larger|greater|longer).*configured context (?:size|length|window)|` +
		`configured context (?:size|length|window).*(?:exceed|too (?:small|large|long))`)
	overflowSignal   = regexp.MustCompile(`\b(?:context|window|prompt|tokens?|input|request|model)\b`)
	overflowAction   = regexp.MustCompile(`too (?:large|long|many)|exceed|overflow|\blimit|\bmax`)
	providerOverflow = regexp.MustCompile(`input token count exceeds the maximum number of input tokens|` +
		`input is too long for this model|input (?:is )?too long for (?:the )?model|` +
		`input exceeds the maximum number of tokens|ollama error:\s*context length exceeded|` +
		`total tokens?.*exceeds? (?:the )?(?:model(?:'s)? )?(?:max|maximum|limit)|` +
		`(?:request|prompt) \([\d,]+ tokens?\) exceeds (?:the )?available context size`)
	broadOverflow = regexp.MustCompile(`context.*overflow|` +
		`context window.*(?:too (?:large|long)|exceed|over|limit|max|requested|sent|tokens)|` +
		`prompt.*(?:too (?:large|long)|exceed|over|limit|max)|` +
		`(?:request|input).*(?:context|window|length|token).*(?:too (?:large|long)|exceed|over|limit|max)`)

	replyVeto     = regexp.MustCompile(`(?i)^(?:throttling error|service unavailable):|rate limit|too many requests`)
	replyOverflow = regexp.MustCompile(`(?i)prompt is too long|request_too_large|input is too long for requested model|` +
		`exceeds the context window|exceeds (?:the )?(?:model(?:'s)? )?maximum context length of [\d,]+ tokens?|` +
		`input token count.*exceeds the maximum|maximum prompt length is \d+|reduce the length of the messages|` +
		`maximum context length is [\d,]+ tokens|` +
		`input \([\d,]+ tokens\) is longer than the model's context length \([\d,]+ tokens\)|` +
		`exceeds the limit of \d+|exceeds the available context size|greater than the context length|` +
		`context window exceeds limit|exceeded model token limit|` +
		`too large for model with [\d,]+ maximum context length|` +
		`configured context (?:size|length|window)|model_context_window_exceeded|` +
		`prompt too long; exceeded (?:max )?context length|context[_ ]length[_ ]exceeded|too many tokens|` +
		`token limit exceeded|^4(?:00|13)\s*(?:status code)?\s*\(no body\)`)

	observedSum = regexp.MustCompile(`(?i)exceeds? context (?:limit|window)\s*\(i\.?e\.?,?\s*([\d,]+)\s*\+\s*([\d,]+)\s*>\s*[\d,]+`)
	// The rest in the order in which they are tried.
	observedMaximum   = regexp.MustCompile(`(?i)prompt is too long:\s*([\d,]+)\s*tokens?\s*>\s*[\d,]+\s*maximum`)
	observedModel     = regexp.MustCompile(`(?i)prompt is too long:\s*([\d,]+),\s*model maximum context length:\s*[\d,]+`)
	observedRequested = regexp.MustCompile(`(?i)requested\s+([\d,]+)\s+tokens`)
	observedLimit     = regexp.MustCompile(`(?i)token limit:?\s*[\d,]+\s*\(requested:\s*([\d,]+)\)`)
	observedResult    = regexp.MustCompile(`(?i)resulted in\s+([\d,]+)\s+tokens`)
)
