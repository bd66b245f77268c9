package prune

import (
	"cmp"
	"strings"
	"time"
)

// Defaults of OpenClaw 2026.7.1 for pruning by cache lifetime.
const (
	defaultTTL            = 5 * time.Minute
	defaultKeepAssistants = 3
	defaultSoftRatio      = 0.3
	defaultHardRatio      = 0.5
	defaultMinPrunable    = 50_000
	defaultTrimMax        = 4_000
	defaultTrimHeadTail   = 1_500
)

// CacheTTLOptions are the options of [CacheTTL]. Nil and the zero value are the defaults.
// In numbers, negative means zero where zero means the default.
type CacheTTLOptions struct {
	// TTL is how long the provider keeps a prompt in its cache after a request. Optional.
	// If zero, five minutes. Negative: never expires, so nothing is shortened anew.
	TTL time.Duration
	// KeepAssistants is how many assistant messages at the end of the list protect
	// themselves and what follows them. Optional. If zero, 3.
	KeepAssistants int
	// SoftRatio and HardRatio are shares of the window. Optional. If zero, 0.3 and 0.5.
	SoftRatio, HardRatio float64
	// MinPrunable is what the results that may be cleared must have together, in
	// characters of which four are a token, so that it is worth it. Optional. If zero,
	// 50,000.
	MinPrunable int
	// MinSaved is what a round must free at least, in the Estimator's unit, tokens; one that
	// would free less changes nothing. Optional. If zero, any gain will do.
	MinSaved int
	// SoftTrim says what is left of a long result. Optional.
	SoftTrim SoftTrim
	// NoHardClear keeps results from being cleared.
	NoHardClear bool
	// Placeholder stands for a cleared result. Optional. If blank, a text that names the
	// message's Key.
	Placeholder string
	// Allow and Deny name tools whose results may and may not be shortened, with * for any
	// characters and without regard to case. Deny wins; an empty Allow allows all.
	Allow, Deny []string
	// ThinkingDropped says that the provider's policy drops the thinking of earlier
	// turns, so that it does not count.
	ThinkingDropped bool
	// Eligible says whether the model's provider caches prompts for TTL. Optional. If
	// nil, [CachesPrompts].
	Eligible func(in Input) bool
}

// SoftTrim is what is left of a long tool result, in UTF-16 units.
type SoftTrim struct {
	// Max is the length up to which a result stays as it is. Optional. If zero, 4,000.
	Max int
	// Head and Tail are kept of a longer one. Optional. If zero, 1,500.
	Head, Tail int
}

// Effective returns the options with every default filled in; negative still means zero.
func (o CacheTTLOptions) Effective() CacheTTLOptions {
	o.TTL = cmp.Or(o.TTL, defaultTTL)
	o.KeepAssistants = cmp.Or(o.KeepAssistants, defaultKeepAssistants)
	o.SoftRatio = cmp.Or(o.SoftRatio, defaultSoftRatio)
	o.HardRatio = cmp.Or(o.HardRatio, defaultHardRatio)
	o.MinPrunable = cmp.Or(o.MinPrunable, defaultMinPrunable)
	o.SoftTrim.Max = cmp.Or(o.SoftTrim.Max, defaultTrimMax)
	o.SoftTrim.Head = cmp.Or(o.SoftTrim.Head, defaultTrimHeadTail)
	o.SoftTrim.Tail = cmp.Or(o.SoftTrim.Tail, defaultTrimHeadTail)
	if isBlank(o.Placeholder) {
		o.Placeholder = ""
	}
	if o.Eligible == nil {
		o.Eligible = CachesPrompts
	}
	return o
}

// CachesPrompts reports whether the provider of a request is known to cache prompts for a
// time that a host can rely on: Anthropic and who serves its models, Google, and an
// unknown provider, "".
func CachesPrompts(in Input) bool {
	provider, model := strings.ToLower(strings.TrimSpace(in.Provider)), strings.ToLower(in.Model)
	switch {
	case provider == "":
		return true
	case strings.Contains(provider, "anthropic"), strings.Contains(model, "claude"), strings.HasPrefix(model, "anthropic/"):
		return true
	default:
		return strings.HasPrefix(provider, "google") && strings.Contains(model, "gemini")
	}
}

// Matches reports whether a tool's results may be shortened by the options.
func (o CacheTTLOptions) Matches(tool string) bool { return toolMatcher(o.Allow, o.Deny)(tool) }
