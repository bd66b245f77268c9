package contextengine

import (
	"context"
	"fmt"
	"time"

	"github.com/go-contextengine/contextengine/transcript"
)

// downgradedReason is the reason in results that stand for hooks that the
// fallback engine lacks.
const downgradedReason = "context engine downgraded to legacy"

// Host-added fields that a validator's text may name, per group of hooks. As in
// OpenClaw 2026.7.2-beta.1.
const (
	textLifecycle = maskSessionKey | maskSettings | maskTarget | maskRuntime
	textIngest    = maskSessionKey
	textAssemble  = maskSessionKey | maskPrompt | maskSettings
)

// Ingest implements [ContextEngine].
func (h *Handle) Ingest(ctx context.Context, p IngestParams) (IngestResult, error) {
	k := hook[IngestParams, IngestResult]{
		op:      "ingest",
		limit:   func(d *Deadlines) time.Duration { return d.Ingest },
		session: func(p IngestParams) sessionID { return sessionOf(p.SessionRef) },
		call: func(ctx context.Context, in *instance, p IngestParams) (IngestResult, error) {
			return in.engine.Ingest(ctx, p)
		},
		present: func(p IngestParams) paramMask { return presentIn(p.SessionRef, nil, nil, nil, nil) },
		zero: func(p IngestParams, m paramMask) IngestParams {
			zeroIn(m, &p.SessionRef, nil, nil, nil)
			return p
		},
		byText: textIngest,
	}
	k.fallback = k.call
	return guard(ctx, h, &k, &p)
}

// Assemble implements [ContextEngine]. Under [Fallback] it never answers with an
// empty history because an engine failed: legacy answers with p.Messages.
func (h *Handle) Assemble(ctx context.Context, p AssembleParams) (AssembleResult, error) {
	k := hook[AssembleParams, AssembleResult]{
		op:      "assemble",
		limit:   func(d *Deadlines) time.Duration { return d.Assemble },
		session: func(p AssembleParams) sessionID { return sessionOf(p.SessionRef) },
		call: func(ctx context.Context, in *instance, p AssembleParams) (AssembleResult, error) {
			return in.engine.Assemble(ctx, p)
		},
		present: func(p AssembleParams) paramMask {
			return presentIn(p.SessionRef, nil, p.Settings, p.Runtime, p.Prompt)
		},
		zero: func(p AssembleParams, m paramMask) AssembleParams {
			zeroIn(m, &p.SessionRef, nil, &p.Settings, &p.Runtime)
			if m&maskPrompt != 0 {
				p.Prompt = nil
			}
			return p
		},
		byText: textAssemble,
		sound: func(r AssembleResult) bool {
			return r.Messages != nil && (r.PromptAuthority == "" || r.PromptAuthority == AuthorityAssembled)
		},
		issue: assembleIssue,
	}
	k.fallback = k.call
	return guard(ctx, h, &k, &p)
}

// assembleIssue finds what the guard can see in constant time. Pairs and
// budgets are the driver's and the conformance kit's to judge.
func assembleIssue(p AssembleParams, r AssembleResult) string {
	if r.Messages == nil && len(p.Messages) > 0 {
		return fmt.Sprintf("assemble returned nil messages for %d", len(p.Messages))
	}
	if !r.PromptAuthority.Valid() {
		return fmt.Sprintf("assemble returned the unknown prompt authority %q", string(r.PromptAuthority))
	}
	return ""
}

// Compact implements [ContextEngine]. A failure comes back in this call, since
// hooks around compaction have run already; the next call is legacy's. A missed
// deadline comes back as a [*DeadlineError] and is not held against the engine.
func (h *Handle) Compact(ctx context.Context, p CompactParams) (CompactResult, error) {
	k := hook[CompactParams, CompactResult]{
		op:       "compact",
		surfaces: true, spares: true,
		limit:   func(d *Deadlines) time.Duration { return d.Compact },
		session: func(p CompactParams) sessionID { return sessionOf(p.SessionRef) },
		call: func(ctx context.Context, in *instance, p CompactParams) (CompactResult, error) {
			return in.engine.Compact(ctx, p)
		},
		present: func(p CompactParams) paramMask {
			return presentIn(p.SessionRef, &p.Target, p.Settings, p.Runtime, nil)
		},
		zero: func(p CompactParams, m paramMask) CompactParams {
			zeroIn(m, &p.SessionRef, &p.Target, &p.Settings, &p.Runtime)
			return p
		},
		byText: textLifecycle,
	}
	k.fallback = k.call
	return guard(ctx, h, &k, &p)
}

// Bootstrap implements [Bootstrapper].
func (h *Handle) Bootstrap(ctx context.Context, p BootstrapParams) (BootstrapResult, error) {
	if !h.hooks.Has(HookBootstrap) {
		return BootstrapResult{}, h.ready(ctx, "bootstrap")
	}
	return guard(ctx, h, &hook[BootstrapParams, BootstrapResult]{
		op: "bootstrap", optional: true,
		limit:   func(d *Deadlines) time.Duration { return d.Bootstrap },
		session: func(p BootstrapParams) sessionID { return sessionOf(p.SessionRef) },
		call: func(ctx context.Context, in *instance, p BootstrapParams) (BootstrapResult, error) {
			return in.engine.(Bootstrapper).Bootstrap(ctx, p)
		},
		fallback: func(ctx context.Context, in *instance, p BootstrapParams) (BootstrapResult, error) {
			if in.hooks.Has(HookBootstrap) {
				return Bootstrap(ctx, in.engine, p)
			}
			return BootstrapResult{Reason: downgradedReason}, nil
		},
		present: func(p BootstrapParams) paramMask {
			return presentIn(p.SessionRef, &p.Target, p.Settings, p.Runtime, nil)
		},
		zero: func(p BootstrapParams, m paramMask) BootstrapParams {
			zeroIn(m, &p.SessionRef, &p.Target, &p.Settings, &p.Runtime)
			return p
		},
		byText: textLifecycle,
	}, &p)
}

// Maintain implements [Maintainer].
func (h *Handle) Maintain(ctx context.Context, p MaintainParams) (transcript.RewriteResult, error) {
	if !h.hooks.Has(HookMaintain) {
		return transcript.RewriteResult{}, h.ready(ctx, "maintain")
	}
	return guard(ctx, h, &hook[MaintainParams, transcript.RewriteResult]{
		op: "maintain", optional: true,
		limit:   func(d *Deadlines) time.Duration { return d.Maintain },
		session: func(p MaintainParams) sessionID { return sessionOf(p.SessionRef) },
		call: func(ctx context.Context, in *instance, p MaintainParams) (transcript.RewriteResult, error) {
			return in.engine.(Maintainer).Maintain(ctx, p)
		},
		fallback: func(ctx context.Context, in *instance, p MaintainParams) (transcript.RewriteResult, error) {
			if in.hooks.Has(HookMaintain) {
				return Maintain(ctx, in.engine, p)
			}
			return transcript.RewriteResult{Reason: downgradedReason}, nil
		},
		present: func(p MaintainParams) paramMask {
			return presentIn(p.SessionRef, &p.Target, p.Settings, p.Runtime, nil)
		},
		zero: func(p MaintainParams, m paramMask) MaintainParams {
			zeroIn(m, &p.SessionRef, &p.Target, &p.Settings, &p.Runtime)
			return p
		},
		byText: textLifecycle,
	}, &p)
}

// IngestBatch implements [BatchIngester]. Without the hook it calls Ingest for
// each message, each guarded.
func (h *Handle) IngestBatch(ctx context.Context, p IngestBatchParams) (IngestBatchResult, error) {
	if !h.hooks.Has(HookIngestBatch) {
		if err := h.ready(ctx, "ingestBatch"); err != nil {
			return IngestBatchResult{}, err
		}
		return IngestBatch(ctx, h, p)
	}
	return guard(ctx, h, &hook[IngestBatchParams, IngestBatchResult]{
		op: "ingestBatch", optional: true,
		limit:   func(d *Deadlines) time.Duration { return d.IngestBatch },
		session: func(p IngestBatchParams) sessionID { return sessionOf(p.SessionRef) },
		call: func(ctx context.Context, in *instance, p IngestBatchParams) (IngestBatchResult, error) {
			return in.engine.(BatchIngester).IngestBatch(ctx, p)
		},
		fallback: func(ctx context.Context, in *instance, p IngestBatchParams) (IngestBatchResult, error) {
			if in.hooks.Has(HookIngestBatch) {
				return IngestBatch(ctx, in.engine, p)
			}
			return IngestBatchResult{}, nil
		},
		present: func(p IngestBatchParams) paramMask { return presentIn(p.SessionRef, nil, nil, nil, nil) },
		zero: func(p IngestBatchParams, m paramMask) IngestBatchParams {
			zeroIn(m, &p.SessionRef, nil, nil, nil)
			return p
		},
		byText: textIngest,
	}, &p)
}

// AfterTurn implements [AfterTurner]. Without the hook it does what
// [IngestBatch] does with the new messages.
func (h *Handle) AfterTurn(ctx context.Context, p AfterTurnParams) error {
	if !h.hooks.Has(HookAfterTurn) {
		if err := h.ready(ctx, "afterTurn"); err != nil {
			return err
		}
		return AfterTurn(ctx, h, p)
	}
	_, err := guard(ctx, h, &hook[AfterTurnParams, struct{}]{
		op: "afterTurn", optional: true,
		limit:   func(d *Deadlines) time.Duration { return d.AfterTurn },
		session: func(p AfterTurnParams) sessionID { return sessionOf(p.SessionRef) },
		call: func(ctx context.Context, in *instance, p AfterTurnParams) (struct{}, error) {
			return struct{}{}, in.engine.(AfterTurner).AfterTurn(ctx, p)
		},
		fallback: func(ctx context.Context, in *instance, p AfterTurnParams) (struct{}, error) {
			if !in.hooks.Has(HookAfterTurn) {
				return struct{}{}, nil
			}
			err := in.engine.(AfterTurner).AfterTurn(ctx, p)
			if err == ErrDeclined {
				err = ingestNew(ctx, in.engine, p)
			}
			return struct{}{}, err
		},
		present: presentInTurn,
		zero: func(p AfterTurnParams, m paramMask) AfterTurnParams {
			zeroIn(m, &p.SessionRef, &p.Target, &p.Settings, &p.Runtime)
			return p
		},
		byText: textLifecycle,
	}, &p)
	return err
}

func presentInTurn(p AfterTurnParams) paramMask {
	return presentIn(p.SessionRef, &p.Target, p.Settings, p.Runtime, nil)
}

// CommitTurn implements [TurnCommitter]. Without the hook it does what
// [AfterTurn] does.
func (h *Handle) CommitTurn(ctx context.Context, p CommitTurnParams) (CommitTurnResult, error) {
	if !h.hooks.Has(HookCommitTurn) {
		if err := h.ready(ctx, "commitTurn"); err != nil {
			return CommitTurnResult{}, err
		}
		return CommitTurn(ctx, h, p)
	}
	return guard(ctx, h, &hook[CommitTurnParams, CommitTurnResult]{
		op: "commitTurn", optional: true,
		limit:   func(d *Deadlines) time.Duration { return d.CommitTurn },
		session: func(p CommitTurnParams) sessionID { return sessionOf(p.SessionRef) },
		call: func(ctx context.Context, in *instance, p CommitTurnParams) (CommitTurnResult, error) {
			return in.engine.(TurnCommitter).CommitTurn(ctx, p)
		},
		fallback: func(ctx context.Context, in *instance, p CommitTurnParams) (CommitTurnResult, error) {
			if in.hooks.Has(HookCommitTurn) {
				return CommitTurn(ctx, in.engine, p)
			}
			return CommitTurnResult{}, nil
		},
		present: func(p CommitTurnParams) paramMask { return presentInTurn(p.AfterTurnParams) },
		zero: func(p CommitTurnParams, m paramMask) CommitTurnParams {
			zeroIn(m, &p.SessionRef, &p.Target, &p.Settings, &p.Runtime)
			return p
		},
		byText: textLifecycle,
	}, &p)
}

// OnSubagentEnded implements [SubagentEndObserver].
func (h *Handle) OnSubagentEnded(ctx context.Context, p SubagentEndedParams) error {
	if !h.hooks.Has(HookSubagentEnded) {
		return h.ready(ctx, "onSubagentEnded")
	}
	_, err := guard(ctx, h, &hook[SubagentEndedParams, struct{}]{
		op: "onSubagentEnded", optional: true,
		limit:   func(d *Deadlines) time.Duration { return d.SubagentEnded },
		session: func(p SubagentEndedParams) sessionID { return sessionID{key: p.ChildSessionKey} },
		call: func(ctx context.Context, in *instance, p SubagentEndedParams) (struct{}, error) {
			return struct{}{}, in.engine.(SubagentEndObserver).OnSubagentEnded(ctx, p)
		},
		fallback: func(ctx context.Context, in *instance, p SubagentEndedParams) (struct{}, error) {
			return struct{}{}, OnSubagentEnded(ctx, in.engine, p)
		},
	}, &p)
	return err
}

// OnSessionEnded implements [SessionEndObserver].
func (h *Handle) OnSessionEnded(ctx context.Context, p SessionEndedParams) error {
	if !h.hooks.Has(HookSessionEnded) {
		return h.ready(ctx, "onSessionEnded")
	}
	_, err := guard(ctx, h, &hook[SessionEndedParams, struct{}]{
		op: "onSessionEnded", optional: true,
		limit:   func(d *Deadlines) time.Duration { return d.SessionEnded },
		session: func(p SessionEndedParams) sessionID { return sessionOf(p.SessionRef) },
		call: func(ctx context.Context, in *instance, p SessionEndedParams) (struct{}, error) {
			return struct{}{}, in.engine.(SessionEndObserver).OnSessionEnded(ctx, p)
		},
		fallback: func(ctx context.Context, in *instance, p SessionEndedParams) (struct{}, error) {
			return struct{}{}, OnSessionEnded(ctx, in.engine, p)
		},
		present: func(p SessionEndedParams) paramMask { return presentIn(p.SessionRef, nil, nil, nil, nil) },
		zero: func(p SessionEndedParams, m paramMask) SessionEndedParams {
			zeroIn(m, &p.SessionRef, nil, nil, nil)
			return p
		},
		byText: textIngest,
	}, &p)
	return err
}

// ready is the answer of a hook that the engine lacks: nil, or why nothing may
// be called.
func (h *Handle) ready(ctx context.Context, op string) error {
	if h.closed.Load() {
		return h.wrap(op, ErrClosed)
	}
	return context.Cause(ctx)
}

// presentIn returns which host-added fields are set.
func presentIn(ref SessionRef, t *SessionTarget, s *RuntimeSettings, rt *RuntimeContext, prompt *string) paramMask {
	var m paramMask
	if ref.SessionKey != "" {
		m |= maskSessionKey
	}
	if t != nil && *t != (SessionTarget{}) {
		m |= maskTarget
	}
	if s != nil {
		m |= maskSettings
	}
	if rt != nil {
		m |= maskRuntime
	}
	if prompt != nil {
		m |= maskPrompt
	}
	return m
}

// zeroIn zeroes host-added fields; nil pointers are fields that the params lack.
func zeroIn(m paramMask, ref *SessionRef, t *SessionTarget, s **RuntimeSettings, rt **RuntimeContext) {
	if m&maskSessionKey != 0 {
		ref.SessionKey = ""
	}
	if m&maskTarget != 0 && t != nil {
		*t = SessionTarget{}
	}
	if m&maskSettings != 0 && s != nil {
		*s = nil
	}
	if m&maskRuntime != 0 && rt != nil {
		*rt = nil
	}
}
