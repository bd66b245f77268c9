package main

import (
	"context"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// recent sends the newest messages that fit into the budget, and the summary of what
// was compacted. Everything that it needs is in the transcript, so it stores nothing.
type recent struct{ count tokens.Estimator }

var _ ce.ContextEngine = recent{}

// Info implements ce.ContextEngine.
func (recent) Info() ce.Info {
	return ce.Info{ID: "recent", Name: "Newest messages that fit", Version: "1.0.0"}
}

// Ingest implements ce.ContextEngine.
func (recent) Ingest(context.Context, ce.IngestParams) (ce.IngestResult, error) {
	return ce.IngestResult{}, nil
}

// Assemble implements ce.ContextEngine. An unknown budget holds everything.
func (r recent) Assemble(_ context.Context, p ce.AssembleParams) (ce.AssembleResult, error) {
	if p.TokenBudget == 0 {
		return ce.AssembleResult{Messages: p.Messages}, nil
	}
	list, left := p.Messages, p.TokenBudget
	var out []message.Message
	if len(list) > 0 && list[0].Role == message.RoleCompactionSummary {
		left -= r.count.Message(list[0])
		out, list = append(out, list[0]), list[1:]
	}
	tail, used := newest(list, left, r.count)
	return ce.AssembleResult{
		Messages:        append(out, list[tail:]...),
		EstimatedTokens: p.TokenBudget - left + used,
	}, nil
}

// Compact implements ce.ContextEngine: the host's compaction will do.
func (recent) Compact(ctx context.Context, p ce.CompactParams) (ce.CompactResult, error) {
	return ce.DelegateCompaction(ctx, p)
}

// newest returns where the newest messages begin that cost no more than limit, and what
// they cost. A call and its results stay together.
func newest(ms []message.Message, limit int, count tokens.Estimator) (start, cost int) {
	var units []message.Unit
	for u := range message.Units(ms) {
		units = append(units, u)
	}
	start = len(ms)
	for i := len(units) - 1; i >= 0; i-- {
		next := tokens.Messages(count, ms[units[i].Start:units[i].End])
		if cost+next > limit {
			break
		}
		start, cost = units[i].Start, cost+next
	}
	return start, cost
}

// broken is what recent must not be.
type broken struct{ recent }

// Info implements ce.ContextEngine.
func (broken) Info() ce.Info {
	return ce.Info{ID: "broken", Name: "Panics when it is asked", Version: "0.0.1"}
}

// Assemble implements ce.ContextEngine.
func (broken) Assemble(_ context.Context, p ce.AssembleParams) (ce.AssembleResult, error) {
	last := p.Messages[len(p.Messages)] // one too far
	return ce.AssembleResult{Messages: []message.Message{last}}, nil
}
