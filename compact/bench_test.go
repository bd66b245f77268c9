package compact_test

import (
	"fmt"
	"testing"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/tokens"
)

// Planning happens in front of every compaction and on request; counts of messages that
// were seen before come from the meter.
func BenchmarkMakePlan(b *testing.B) {
	for _, n := range []int{1_000, 20_000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			v := viewOf(talk(n / 4)...)
			opts := &compact.Options{Estimator: tokens.NewMeter(nil, nil), Budget: tokens.NewBudget(200_000, nil)}
			for b.Loop() {
				if _, err := compact.MakePlan(v, opts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkExtractive(b *testing.B) {
	source := compact.RenderSource(talk(500))
	s := compact.Extractive()
	for b.Loop() {
		if _, err := s.Summarize(b.Context(), compact.Request{Source: source, TargetTokens: 4_000}); err != nil {
			b.Fatal(err)
		}
	}
}
