package compact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/compact"
)

func TestReasonClassOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]compact.ReasonClass{
		"Nothing to compact (session too small)":  compact.ClassNothing,
		"no real conversation messages":           compact.ClassNothing,
		"already under target, below threshold":   compact.ClassBelow,
		"Already compacted":                       compact.ClassRecent,
		"deferred to background maintenance":      compact.ClassDeferred,
		"live context still exceeds target":       compact.ClassStillTooLong,
		"the safeguard could not write a summary": compact.ClassBlocked,
		"blank summary after a timeout":           compact.ClassSummary,
		"timed out with 429":                      compact.ClassTimeout,
		"status 403":                              compact.ClassClientError,
		"status 503":                              compact.ClassServerError,
		"something else":                          compact.ClassUnknown,
		"":                                        compact.ClassUnknown,
	} {
		require.Equal(t, want, compact.ReasonClassOf(text), text)
	}
}

func TestReasonDetail(t *testing.T) {
	t.Parallel()
	require.Equal(t, "weird_thing_x", compact.ReasonDetail(" weird  thing! (x)\n"))
	require.Equal(t, "a@b:/c+1", compact.ReasonDetail("a@b:/c+1"))
	require.Empty(t, compact.ReasonDetail("é!"))
	require.Len(t, compact.ReasonDetail(strings.Repeat("x", 500)), 100)
}
