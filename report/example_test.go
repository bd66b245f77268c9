package report_test

import (
	"fmt"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/report"
)

// What a /status command could show of a session.
func ExampleStatus() {
	s := report.Status{ // of host.Host.Status
		Engine: ce.Status{
			Selected: "summaries", Answering: ce.LegacyID,
			Quarantine: &ce.Quarantine{EngineID: "summaries", Operation: "assemble", Class: ce.ClassDeadline, Reason: "no answer\nin 15 s"},
		},
		Window: 128_000, Used: 61_000, Reserve: 20_000, Compactions: 2,
	}
	fmt.Printf("%d of %d tokens are used, %d are kept free; compacted %d times\n", s.Used, s.Window, s.Reserve, s.Compactions)
	if q := s.Engine.Quarantine; q != nil {
		fmt.Printf("%s answers: %v\n", s.Engine.Answering, q)
	}
	// Output:
	// 61000 of 128000 tokens are used, 20000 are kept free; compacted 2 times
	// legacy answers: engine "summaries" failed: assemble (deadline): no answer in 15 s
}
