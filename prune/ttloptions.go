package prune

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
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
	o.TTL = orDefault(o.TTL, defaultTTL)
	o.KeepAssistants = orDefault(o.KeepAssistants, defaultKeepAssistants)
	o.SoftRatio = orDefault(o.SoftRatio, defaultSoftRatio)
	o.HardRatio = orDefault(o.HardRatio, defaultHardRatio)
	o.MinPrunable = orDefault(o.MinPrunable, defaultMinPrunable)
	o.SoftTrim.Max = orDefault(o.SoftTrim.Max, defaultTrimMax)
	o.SoftTrim.Head = orDefault(o.SoftTrim.Head, defaultTrimHeadTail)
	o.SoftTrim.Tail = orDefault(o.SoftTrim.Tail, defaultTrimHeadTail)
	if isBlank(o.Placeholder) {
		o.Placeholder = ""
	}
	if o.Eligible == nil {
		o.Eligible = CachesPrompts
	}
	return o
}

func orDefault[T time.Duration | int | float64](v, def T) T {
	if v == 0 {
		return def
	}
	return v
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

// toolMatcher returns the rule by which a tool's results may be shortened.
func toolMatcher(allow, deny []string) func(tool string) bool {
	allowed, denied := globs(allow), globs(deny)
	return func(tool string) bool {
		tool = strings.ToLower(strings.TrimSpace(tool))
		if matchesAny(denied, tool) {
			return false
		}
		return len(allowed) == 0 || matchesAny(allowed, tool)
	}
}

// Matches reports whether a tool's results may be shortened by the options.
func (o CacheTTLOptions) Matches(tool string) bool { return toolMatcher(o.Allow, o.Deny)(tool) }

func globs(patterns []string) []string {
	var out []string
	for _, p := range patterns {
		if p = strings.ToLower(strings.TrimSpace(p)); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func matchesAny(patterns []string, s string) bool {
	for _, p := range patterns {
		if globMatch(p, s) {
			return true
		}
	}
	return false
}

// globMatch matches * with any characters and everything else with itself.
func globMatch(pattern, s string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	if !star {
		return s == ""
	}
	for {
		part, more, again := strings.Cut(rest, "*")
		if !again {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], more
	}
}

// ParseCacheTTL reads the documented contextPruning configuration object. on is false when
// its mode is not cache-ttl.
//
// Numbers out of range are clamped. A lifetime is a string of numbers with ms, s, m, h or d,
// such as 1h30m, and minutes where no unit is given; one that cannot be read keeps the default.
// null is as good as absent. A value of another JSON type, such as a number for ttl or a
// string for keepLastAssistants, is an error that names its key, and nothing is read.
func ParseCacheTTL(raw json.RawMessage) (opts CacheTTLOptions, on bool, err error) {
	var c ttlConfig
	if err := json.Unmarshal(raw, &c); err != nil {
		return CacheTTLOptions{}, false, fmt.Errorf("reading context pruning: %w", typeError(err))
	}
	if c.Mode != "cache-ttl" {
		return CacheTTLOptions{}, false, nil
	}
	o := CacheTTLOptions{
		KeepAssistants: count(c.KeepLastAssistants),
		SoftRatio:      share(c.SoftTrimRatio),
		HardRatio:      share(c.HardClearRatio),
		MinPrunable:    count(c.MinPrunableToolChars),
		SoftTrim: SoftTrim{
			Max: count(c.SoftTrim.MaxChars), Head: count(c.SoftTrim.HeadChars), Tail: count(c.SoftTrim.TailChars),
		},
		NoHardClear: c.HardClear.Enabled != nil && !*c.HardClear.Enabled,
		Placeholder: strings.TrimSpace(c.HardClear.Placeholder),
		Allow:       c.Tools.Allow, Deny: c.Tools.Deny,
	}
	if ttl, ok := lifetime(c.TTL); ok {
		o.TTL = ttl
	}
	return o, true, nil
}

// typeError names the key that has a value of the wrong type.
func typeError(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) || wrong.Field == "" {
		return err
	}
	return fmt.Errorf("%q cannot be a %s: %w", wrong.Field, wrong.Value, err)
}

type ttlConfig struct {
	Mode                 string   `json:"mode"`
	TTL                  string   `json:"ttl"`
	KeepLastAssistants   *float64 `json:"keepLastAssistants"`
	SoftTrimRatio        *float64 `json:"softTrimRatio"`
	HardClearRatio       *float64 `json:"hardClearRatio"`
	MinPrunableToolChars *float64 `json:"minPrunableToolChars"`
	Tools                struct {
		Allow []string `json:"allow"`
		Deny  []string `json:"deny"`
	} `json:"tools"`
	SoftTrim struct {
		MaxChars  *float64 `json:"maxChars"`
		HeadChars *float64 `json:"headChars"`
		TailChars *float64 `json:"tailChars"`
	} `json:"softTrim"`
	HardClear struct {
		Enabled     *bool  `json:"enabled"`
		Placeholder string `json:"placeholder"`
	} `json:"hardClear"`
}

// count turns a configured count into an option: absent is the default, none is negative.
func count(v *float64) int {
	switch {
	case v == nil || math.IsNaN(*v):
		return 0
	case *v < 1:
		return -1
	default:
		return int(math.Min(*v, maxCount))
	}
}

// maxCount leaves room for what is computed with a count.
const maxCount = min(math.MaxInt/8, 1<<53)

func share(v *float64) float64 {
	switch {
	case v == nil || math.IsNaN(*v):
		return 0
	case *v <= 0:
		return -1
	default:
		return math.Min(*v, 1)
	}
}

// lifetime reads a duration; a bare number is minutes. No time at all means that nothing
// expires.
func lifetime(s string) (time.Duration, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	if bareNumber.MatchString(s) {
		s += "m"
	}
	if !durationText.MatchString(s) {
		return 0, false
	}
	total := 0.0
	for _, part := range durationPart.FindAllStringSubmatch(s, -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0, false
		}
		total += n * float64(durationUnit(part[2]))
	}
	if total >= math.MaxInt64 {
		return 0, false
	}
	if d := time.Duration(total).Round(time.Millisecond); d > 0 {
		return d, true
	}
	return -1, true
}

var (
	bareNumber   = regexp.MustCompile(`^\d+(?:\.\d+)?$`)
	durationText = regexp.MustCompile(`^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$`)
	durationPart = regexp.MustCompile(`(\d+(?:\.\d+)?)(ms|s|m|h|d)`)
)

func durationUnit(name string) time.Duration {
	switch name {
	case "ms":
		return time.Millisecond
	case "s":
		return time.Second
	case "m":
		return time.Minute
	case "h":
		return time.Hour
	}
	return 24 * time.Hour
}
