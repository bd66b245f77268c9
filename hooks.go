package contextengine

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/go-contextengine/contextengine/transcript"
)

// A HookSet is a set of optional hooks.
type HookSet uint16

// The optional hooks.
const (
	HookBootstrap HookSet = 1 << iota
	HookMaintain
	HookIngestBatch
	HookAfterTurn
	HookCommitTurn
	HookPrepareSubagentSpawn
	HookSubagentEnded
	HookSessionEnded
	HookTools
	HookClose
)

// Has reports whether every hook of h is in s.
func (s HookSet) Has(h HookSet) bool { return s&h == h }

// String names the hooks of s, with a blank between them, as events and
// quarantines name them. It shows which methods of an engine are hooks: one whose
// signature differs is missing.
func (s HookSet) String() string {
	var names []string
	for i, name := range [...]string{
		"bootstrap", "maintain", "ingestBatch", "afterTurn", "commitTurn", "prepareSubagentSpawn",
		"onSubagentEnded", "onSessionEnded", "tools", "close",
	} {
		if s.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// HooksOf returns the optional hooks that e has: the interfaces it implements,
// and of those only the ones it reports where it is a [HookReporter]. Hosts ask
// it before they skip bootstrap or maintenance or defer a compaction. Never walk
// an Unwrap chain instead: that would step around the guard.
func HooksOf(e ContextEngine) HookSet {
	if h, ok := e.(*Handle); ok {
		return h.Hooks()
	}
	s := implemented(e)
	if r, ok := e.(HookReporter); ok {
		s &= r.Hooks()
	}
	return s
}

func implemented(e ContextEngine) HookSet {
	return hookIf[Bootstrapper](e, HookBootstrap) |
		hookIf[Maintainer](e, HookMaintain) |
		hookIf[BatchIngester](e, HookIngestBatch) |
		hookIf[AfterTurner](e, HookAfterTurn) |
		hookIf[TurnCommitter](e, HookCommitTurn) |
		hookIf[SubagentPreparer](e, HookPrepareSubagentSpawn) |
		hookIf[SubagentEndObserver](e, HookSubagentEnded) |
		hookIf[SessionEndObserver](e, HookSessionEnded) |
		hookIf[ToolProvider](e, HookTools) |
		hookIf[io.Closer](e, HookClose)
}

// hookIf is h when e implements the interface I.
func hookIf[I any](e ContextEngine, h HookSet) HookSet {
	if _, ok := e.(I); ok {
		return h
	}
	return 0
}

// The total functions: one per optional hook, with what happens when the engine
// lacks the hook or declines the call. They are the only places that know.

// Bootstrap calls the engine's Bootstrap. Without one the result is zero.
func Bootstrap(ctx context.Context, e ContextEngine, p BootstrapParams) (BootstrapResult, error) {
	if HooksOf(e).Has(HookBootstrap) {
		if r, err := e.(Bootstrapper).Bootstrap(ctx, p); err != ErrDeclined {
			return r, err
		}
	}
	return BootstrapResult{}, nil
}

// Maintain calls the engine's Maintain. Without one nothing changed.
func Maintain(ctx context.Context, e ContextEngine, p MaintainParams) (transcript.RewriteResult, error) {
	if HooksOf(e).Has(HookMaintain) {
		if r, err := e.(Maintainer).Maintain(ctx, p); err != ErrDeclined {
			return r, err
		}
	}
	return transcript.RewriteResult{}, nil
}

// IngestBatch calls the engine's IngestBatch. Without one it calls Ingest for
// each message in order, goes on after a failure, counts what was ingested and
// joins the errors. It stops when ctx is done, and when a [Handle] answers that
// nobody is there: that error comes back as it is.
func IngestBatch(ctx context.Context, e ContextEngine, p IngestBatchParams) (IngestBatchResult, error) {
	if HooksOf(e).Has(HookIngestBatch) {
		if r, err := e.(BatchIngester).IngestBatch(ctx, p); err != ErrDeclined {
			return r, err
		}
	}
	var (
		res  IngestBatchResult
		errs []error
	)
	for _, m := range p.Messages {
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		r, err := e.Ingest(ctx, IngestParams{SessionRef: p.SessionRef, Message: m, IsHeartbeat: p.IsHeartbeat})
		if err != nil && len(errs) == 0 && settled(err) {
			return res, err
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if r.Ingested {
			res.IngestedCount++
		}
	}
	return res, errors.Join(errs...)
}

// settled reports whether err will not change from message to message, so that
// going on with the next one is of no use.
func settled(err error) bool {
	var gone *EngineUnavailableError
	return errors.As(err, &gone) || errors.Is(err, ErrClosed) || errors.Is(err, ErrEngineBusy)
}

// AfterTurn calls the engine's AfterTurn. Without one the messages from
// PrePromptMessageCount on go to [IngestBatch]; nothing is called when there are
// none.
func AfterTurn(ctx context.Context, e ContextEngine, p AfterTurnParams) error {
	if HooksOf(e).Has(HookAfterTurn) {
		if err := e.(AfterTurner).AfterTurn(ctx, p); err != ErrDeclined {
			return err
		}
	}
	return ingestNew(ctx, e, p)
}

// ingestNew is what AfterTurn does for an engine without it.
func ingestNew(ctx context.Context, e ContextEngine, p AfterTurnParams) error {
	fresh := p.New()
	if len(fresh) == 0 {
		return nil
	}
	_, err := IngestBatch(ctx, e, IngestBatchParams{
		SessionRef: p.SessionRef, Messages: fresh, Delivery: p.Delivery, IsHeartbeat: p.IsHeartbeat,
	})
	return err
}

// CommitTurn ends a turn: the whole ladder. The engine's CommitTurn, else its
// AfterTurn, else IngestBatch, else Ingest one by one. Exactly one of them is
// used, unless it declines. Status is "" where no CommitTurn answered.
func CommitTurn(ctx context.Context, e ContextEngine, p CommitTurnParams) (CommitTurnResult, error) {
	if HooksOf(e).Has(HookCommitTurn) {
		if r, err := e.(TurnCommitter).CommitTurn(ctx, p); err != ErrDeclined {
			return r, err
		}
	}
	return CommitTurnResult{}, AfterTurn(ctx, e, p.AfterTurnParams)
}

// PrepareSubagentSpawn calls the engine's hook. Without one there is nothing to
// prepare or to roll back: nil, nil.
func PrepareSubagentSpawn(ctx context.Context, e ContextEngine, p SubagentSpawnParams) (*SubagentPreparation, error) {
	if HooksOf(e).Has(HookPrepareSubagentSpawn) {
		if r, err := e.(SubagentPreparer).PrepareSubagentSpawn(ctx, p); err != ErrDeclined {
			return r, err
		}
	}
	return nil, nil
}

// OnSubagentEnded calls the engine's hook, where there is one.
func OnSubagentEnded(ctx context.Context, e ContextEngine, p SubagentEndedParams) error {
	if HooksOf(e).Has(HookSubagentEnded) {
		if err := e.(SubagentEndObserver).OnSubagentEnded(ctx, p); err != ErrDeclined {
			return err
		}
	}
	return nil
}

// OnSessionEnded calls the engine's hook, where there is one.
func OnSessionEnded(ctx context.Context, e ContextEngine, p SessionEndedParams) error {
	if HooksOf(e).Has(HookSessionEnded) {
		if err := e.(SessionEndObserver).OnSessionEnded(ctx, p); err != ErrDeclined {
			return err
		}
	}
	return nil
}

// Tools returns the tools that the engine offers; without the hook, none.
func Tools(ctx context.Context, e ContextEngine, p ToolsParams) ([]Tool, error) {
	if HooksOf(e).Has(HookTools) {
		if r, err := e.(ToolProvider).Tools(ctx, p); err != ErrDeclined {
			return r, err
		}
	}
	return nil, nil
}

// Close releases the engine's resources, where it has any: every [io.Closer] is
// closed, whatever it reports of its hooks, since a wrapper may have resources
// that the engine behind it has not.
func Close(e ContextEngine) error {
	if c, ok := e.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
