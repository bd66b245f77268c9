package contextengine

import (
	"context"
)

// Legacy returns the built-in engine: it stores nothing, assembles what the
// transcript holds, leaves compaction to the host, offers no tools and adds
// nothing to the prompt. It is the default, and it answers for engines that
// failed. A [Registry] has it without being told; this function is for tests and
// for hosts that want it bare.
func Legacy() ContextEngine { return legacyEngine{} }

// legacyEngine keeps no state: one value serves every session.
type legacyEngine struct{}

func legacyInfo() Info {
	return Info{ID: LegacyID, Name: "Legacy Context Engine", Version: "1.0.0"}
}

// Info implements [ContextEngine].
func (legacyEngine) Info() Info { return legacyInfo() }

// Ingest stores nothing: the transcript is the store.
func (legacyEngine) Ingest(context.Context, IngestParams) (IngestResult, error) {
	return IngestResult{}, nil
}

// Assemble returns the messages as they are, the same slice, in constant time.
// The estimate is left to the host.
func (legacyEngine) Assemble(_ context.Context, p AssembleParams) (AssembleResult, error) {
	return AssembleResult{Messages: p.Messages}, nil
}

// Compact runs the host's built-in compaction.
func (legacyEngine) Compact(ctx context.Context, p CompactParams) (CompactResult, error) {
	return DelegateCompaction(ctx, p)
}

// AfterTurn has nothing to do, and spares Ingest the walk over the turn.
func (legacyEngine) AfterTurn(context.Context, AfterTurnParams) error { return nil }

// Close has nothing to release.
func (legacyEngine) Close() error { return nil }
