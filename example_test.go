package contextengine_test

import (
	"context"
	"errors"
	"fmt"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
)

// sampleEngine is the smallest engine that owns its compaction.
type sampleEngine struct{}

func (sampleEngine) Info() ce.Info {
	return ce.Info{ID: "sample", Name: "Sample engine", OwnsCompaction: true}
}

func (sampleEngine) Ingest(context.Context, ce.IngestParams) (ce.IngestResult, error) {
	return ce.IngestResult{Ingested: true}, nil
}

func (sampleEngine) Assemble(_ context.Context, p ce.AssembleParams) (ce.AssembleResult, error) {
	return ce.AssembleResult{
		Messages:             message.Tail(p.Messages, 20),
		SystemPromptAddition: "Older messages were left out.",
	}, nil
}

func (sampleEngine) Compact(context.Context, ce.CompactParams) (ce.CompactResult, error) {
	return ce.CompactResult{OK: true, Compacted: true}, nil
}

// An engine has four methods. Everything else is optional.
func ExampleContextEngine() {
	var reg ce.Registry
	err := reg.Register("sample", "plugin:sample", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		return sampleEngine{}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	h, err := reg.Resolve(ctx, ce.Selection{Engine: "sample"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()

	history := []message.Message{message.User("What is a context engine?")}
	res, err := h.Assemble(ctx, ce.AssembleParams{Messages: history, TokenBudget: 8000})
	fmt.Println(len(res.Messages), res.SystemPromptAddition, err)
	done, err := h.Compact(ctx, ce.CompactParams{Force: true})
	fmt.Println(done.OK, done.Compacted, err)
	fmt.Println(h.Status().Answering, len(reg.Quarantines()))
	// Output:
	// 1 Older messages were left out. <nil>
	// true true <nil>
	// sample 0
}

// moody fails when it is asked to assemble.
type moody struct{ sampleEngine }

func (moody) Assemble(context.Context, ce.AssembleParams) (ce.AssembleResult, error) {
	return ce.AssembleResult{}, errors.New("index is corrupt")
}

// A broken engine does not stop the turn: legacy answers in the same call, and
// Status says so.
func ExampleHandle() {
	var reg ce.Registry
	if err := reg.Register("moody", "plugin:moody", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		return moody{}, nil
	}); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	h, err := reg.Resolve(ctx, ce.Selection{Engine: "moody"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()

	res, err := h.Assemble(ctx, ce.AssembleParams{Messages: []message.Message{message.User("hello")}})
	fmt.Println(len(res.Messages), err)
	s := h.Status()
	fmt.Println(s.Selected, "answered by", s.Answering)
	fmt.Println(s.Quarantine.Operation, "failed:", s.Quarantine.Reason)
	// Output:
	// 1 <nil>
	// moody answered by legacy
	// assemble failed: index is corrupt
}

// Under Strict nobody stands in.
func ExampleSelection() {
	var reg ce.Registry
	_, err := reg.Resolve(context.Background(), ce.Selection{Engine: "missing", Policy: ce.Strict})
	var unavailable *ce.EngineUnavailableError
	fmt.Println(errors.As(err, &unavailable), errors.Is(err, ce.ErrNotRegistered))
	fmt.Println(err)
	// Output:
	// true true
	// contextengine: engine "missing" is unavailable since resolve failed: not registered
}

// Check what an engine demands before the operation starts.
func ExampleCheckHost() {
	info := ce.Info{ID: "summaries", HostRequirements: map[ce.Operation]ce.HostRequirements{
		ce.OpManualCompact: {Required: []ce.Capability{ce.CapRuntimeLLMComplete}, Unsupported: "Summaries need a model."},
	}}
	fmt.Println(ce.CheckHost(info, ce.OpManualCompact, ce.EmbeddedHost()))
	fmt.Println(ce.CheckHost(info, ce.OpManualCompact, ce.CLIHost("tool", ce.CapCompact)))
	// Output:
	// <nil>
	// engine "summaries" cannot run "manual-compact" on CLI backend "tool": missing runtime-llm-complete (required: runtime-llm-complete; available: compact): Summaries need a model.
}
