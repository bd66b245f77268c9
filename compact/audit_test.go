package compact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/tokens"
)

func TestAuditSummary(t *testing.T) {
	t.Parallel()
	in := compact.AuditInput{Summary: audited, Identifiers: []string{"a/b.go", "c/d.go", "e/f.go", "g/h.go"}, LatestAsk: "add columns, please"}
	require.Equal(t, []string{"missing_identifiers:a/b.go,c/d.go,e/f.go"}, compact.AuditSummary(in))
	in.Policy = compact.IdentifiersOff
	require.Empty(t, compact.AuditSummary(in))
	in.LatestAsk = "写一个部署脚本"
	require.Equal(t, []string{"latest_user_ask_not_reflected"}, compact.AuditSummary(in))
	in.Summary = strings.Replace(audited, "None.", "写一个部署脚本", 1)
	require.Empty(t, compact.AuditSummary(in))
}

func TestAuditRejectsAndCorrects(t *testing.T) {
	t.Parallel()
	bad, good := compact.Reply{Text: "The migration locks tables."}, compact.Reply{Text: audited}
	tests := []struct {
		name     string
		attempts int
		replies  []compact.Reply
		want     ce.CompactionReason
	}{
		{name: "off", replies: []compact.Reply{bad}, want: ce.ReasonCompacted},
		{name: "no second attempt", attempts: -1, replies: []compact.Reply{bad}, want: ce.ReasonSummaryRejected},
		{name: "good at once", attempts: -1, replies: []compact.Reply{good}, want: ce.ReasonCompacted},
		{name: "corrected", attempts: 1, replies: []compact.Reply{bad, good}, want: ce.ReasonCompacted},
		{name: "never good", attempts: 2, replies: []compact.Reply{bad}, want: ce.ReasonSummaryRejected},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, log := newLog(t, talk(20)...)
			before := dump(t, log)
			s := compact.Scripted(tt.replies...)
			// A tail of whole turns, so that there is one request an attempt.
			ms := view(t, log).Messages
			keep := tokens.Messages(tokens.ScriptAware(), ms[len(ms)-12:])
			c := compactor(t, store, &compact.Options{KeepRecent: keep, Summarizer: s, Audit: compact.Audit{Attempts: tt.attempts}})
			res, err := c.CompactSession(t.Context(), manual())
			require.NoError(t, err)
			require.Equal(t, tt.want, res.Reason, res.Detail)
			if !res.Compacted {
				require.Equal(t, before, dump(t, log))
				require.Contains(t, res.Detail, "missing_section:## Decisions")
				require.Equal(t, 1+max(0, tt.attempts), len(s.Requests()))
			}
			for _, r := range s.Requests()[1:] {
				require.Contains(t, r.Instructions, "missing_section:## Decisions")
			}
		})
	}
}

const audited = `The migration is reviewed step by step.

## Decisions
Add columns without a default.

## Open TODOs
None.

## Constraints/Rules
None.

## Pending user asks
None.

## Exact identifiers
None captured.`
