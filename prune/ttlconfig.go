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

// ParseCacheTTL reads the contextPruning object of OpenClaw's configuration. on is false when its
// mode is not cache-ttl.
//
// Numbers out of range are clamped. A lifetime is a string of numbers with ms, s, m, h or d,
// such as 1h30m, and minutes where no unit is given; one that cannot be read keeps the default.
// null is as good as absent, and so is an empty raw. A value of another JSON type, such as a
// number for ttl or a string for keepLastAssistants, is an error that names its key, and nothing
// is read.
func ParseCacheTTL(raw json.RawMessage) (opts CacheTTLOptions, on bool, err error) {
	var c ttlConfig
	if len(raw) == 0 {
		return CacheTTLOptions{}, false, nil
	}
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
