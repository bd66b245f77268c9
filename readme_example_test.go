package contextengine_test

import (
	"context"
	"fmt"
	"log"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// Code of README.md; see readme_test.go.

// recent sends the newest messages that fit into the budget.
type recent struct{}

func (recent) Info() ce.Info {
	return ce.Info{ID: "recent", Name: "Newest messages that fit", Version: "1.0.0"}
}

// Ingest stores nothing: the transcript has it all.
func (recent) Ingest(context.Context, ce.IngestParams) (ce.IngestResult, error) {
	return ce.IngestResult{}, nil
}

func (recent) Assemble(_ context.Context, p ce.AssembleParams) (ce.AssembleResult, error) {
	if p.TokenBudget == 0 { // unknown
		return ce.AssembleResult{Messages: p.Messages}, nil
	}
	count, cut, left := tokens.ScriptAware(), len(p.Messages), p.TokenBudget
	for ; cut > 0; cut-- {
		if left -= count.Message(p.Messages[cut-1]); left < 0 {
			break
		}
	}
	cut = message.SafeCutAfter(p.Messages, cut) // a tool call and its results stay together
	return ce.AssembleResult{Messages: p.Messages[cut:]}, nil
}

// Compact leaves it to the host.
func (recent) Compact(ctx context.Context, p ce.CompactParams) (ce.CompactResult, error) {
	return ce.DelegateCompaction(ctx, p)
}

func Example_quickstart() {
	ctx := context.Background()
	var registry ce.Registry
	err := registry.Register("recent", "plugin:recent",
		func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return recent{}, nil })
	if err != nil {
		log.Fatal(err)
	}
	h, err := host.New(transcript.NewMemory(), &host.Options{ // or transcript.OpenDir
		Registry:  &registry,
		Selection: ce.Selection{Engine: "recent"},                       // "": legacy
		Model:     hosttest.NewModel(hosttest.Reply("All tests pass.")), // yours: one method
	})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close(ctx)

	out, err := h.Run(ctx, ce.SessionRef{SessionID: "demo"}, message.User("How are the tests?"), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Reply.Text())
	fmt.Println("context by", out.Engine.Answering)
	// Output:
	// All tests pass.
	// context by recent
}

// The engine of README.md keeps to its budget. Where only the result of a call would
// fit, neither is sent.
func Example_engine() {
	list := []message.Message{
		message.User("Which tests fail?"),
		message.Assistant(message.ToolCall("c1", "test", []byte(`{}`))),
		message.ToolResult("c1", "test", message.Text("FAIL TestZone")),
		message.Assistant(message.Text("TestZone.")),
	}
	for _, budget := range []int{0, 100, 40} {
		res, err := recent{}.Assemble(context.Background(), ce.AssembleParams{Messages: list, TokenBudget: budget})
		fmt.Println(budget, len(res.Messages), err)
	}
	// Output:
	// 0 4 <nil>
	// 100 4 <nil>
	// 40 1 <nil>
}
