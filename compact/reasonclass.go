package compact

import (
	"regexp"
	"strings"
)

// A ReasonClass is what OpenClaw 2026.7.1 makes of the text with which a compaction ended,
// for its metrics and its decision whether a run can go on. This library's own reasons are
// codes; a ReasonClass is for hosts that read what another program wrote.
type ReasonClass string

// The classes, in the order in which they are tried.
const (
	ClassNothing      ReasonClass = "no_compactable_entries"
	ClassBelow        ReasonClass = "below_threshold"
	ClassRecent       ReasonClass = "already_compacted_recently"
	ClassDeferred     ReasonClass = "deferred_background"
	ClassStillTooLong ReasonClass = "live_context_still_exceeds_target"
	ClassBlocked      ReasonClass = "guard_blocked"
	ClassSummary      ReasonClass = "summary_failed"
	ClassTimeout      ReasonClass = "timeout"
	ClassClientError  ReasonClass = "provider_error_4xx"
	ClassServerError  ReasonClass = "provider_error_5xx"
	ClassUnknown      ReasonClass = "unknown"
)

// ReasonClassOf reads the text of a reason. The first class of which the text holds a word
// counts, whatever its case, so that a text about a safeguard is [ClassBlocked] even where
// it says that a summary failed. Anything else is [ClassUnknown].
func ReasonClassOf(text string) ReasonClass {
	lower := strings.ToLower(text)
	for _, c := range [...]struct {
		class ReasonClass
		words []string
	}{
		{ClassNothing, []string{"nothing to compact", "no real conversation messages"}},
		{ClassBelow, []string{"below threshold", "already under target"}},
		{ClassRecent, []string{"already compacted", "already_compacted"}},
		{ClassDeferred, []string{"deferred to background"}},
		{ClassStillTooLong, []string{"still exceeds target"}},
		{ClassBlocked, []string{"guard"}},
		{ClassSummary, []string{"summary"}},
		{ClassTimeout, []string{"timed out", "timeout"}},
		{ClassClientError, []string{"400", "401", "403", "429"}},
		{ClassServerError, []string{"500", "502", "503", "504"}},
	} {
		if containsAny(lower, c.words...) {
			return c.class
		}
	}
	return ClassUnknown
}

// maxReasonDetail is the length of a detail (OpenClaw 2026.7.1).
const maxReasonDetail = 100

// unsafeDetail is what a label of a metric should not hold.
var unsafeDetail = regexp.MustCompile(`[^A-Za-z0-9._:@/+~-]+`)

// ReasonDetail makes the text of an unknown reason fit for a label or a log field, as
// OpenClaw 2026.7.1 does: at most 100 letters, digits and signs without meaning, with one
// underscore for what is none of them, and none at the ends. "": nothing is left.
func ReasonDetail(text string) string {
	text = strings.Trim(unsafeDetail.ReplaceAllString(text, "_"), "_")
	return text[:min(len(text), maxReasonDetail)]
}
