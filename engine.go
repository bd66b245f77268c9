// Package contextengine is the contract between an agent host and the engine
// that builds its model context.
//
// A language-model agent sends a model a context: system prompt, history and
// tool results, all within a token window. A context engine decides what goes
// in. It ingests messages, assembles the list for each model run under a token
// budget, compacts old history, works after each turn, and carries context
// across subagent boundaries.
//
// # Two faces
//
// Engine authors implement [ContextEngine], four methods, and whichever of the
// optional one-method interfaces they need. Hosts never touch an engine
// directly: [Registry.Resolve] gives them a [*Handle], which carries every hook
// and guards each call. An engine that returns an error, panics, misses its
// deadline or breaks the contract is quarantined, and the built-in legacy
// engine answers instead, so that the turn survives.
//
//	var reg contextengine.Registry
//	err := reg.Register("mine", "plugin:mine", func(ctx context.Context, fc contextengine.FactoryContext) (contextengine.ContextEngine, error) {
//		return newMyEngine(fc.Config)
//	})
//	// …
//	h, err := reg.Resolve(ctx, contextengine.Selection{Engine: "mine"})
//	// …
//	defer h.Close()
//	res, err := h.Assemble(ctx, contextengine.AssembleParams{Messages: history, TokenBudget: 100_000})
//
// Package host drives the whole lifecycle for hosts that would rather not know
// the ordering rules; most hosts start there and meet this package as the types
// that its methods take.
//
// # Calling conventions
//
// Params and results travel by value. [RuntimeContext] and [RuntimeSettings]
// are shared and read-only; nil means none. A zero value means unknown wherever
// a real value can never be zero. Slices in params are borrowed: read them, do
// not change or keep them. Messages are immutable once handed over.
//
// # Concurrency
//
// Calls for different sessions run concurrently. For one session the host
// serialises them. [Registry] and [Handle] are safe for concurrent use. No lock
// is held while an engine, a model or a callback runs.
//
// # OpenClaw
//
// The contract is the one that OpenClaw documents for its context engines, said
// in Go. Where a comment names OpenClaw and a version, a number or a behaviour
// is taken from there, so that hosts and sessions of both agree.
package contextengine

import (
	"context"

	"github.com/go-contextengine/contextengine/transcript"
)

// LegacyID is the id of the built-in engine, the default and the fallback.
const LegacyID = "legacy"

// A ContextEngine builds the model context of an agent's sessions.
//
// Beside these four methods an engine may implement any of the optional
// interfaces of this package ([Bootstrapper], [Maintainer], [BatchIngester],
// [AfterTurner], [TurnCommitter], [SubagentPreparer], [SubagentEndObserver],
// [SessionEndObserver], [ToolProvider], [io.Closer]).
//
// Rules for implementations:
//   - Calls for different sessions may run concurrently.
//   - Slices in params are borrowed; messages may be kept, slices not.
//   - Return the context's error, or something that wraps it, when ctx is done.
//   - An ordinary "nothing to do" is a result, not an error: an error
//     quarantines the engine.
//   - No goroutine outlives Close.
//
// A method whose signature differs is no hook, and nobody complains: [HooksOf]
// shows which are. Let the compiler check those that are meant to be one:
//
//	var _ contextengine.Maintainer = (*Engine)(nil)
//
// [io.Closer]: https://pkg.go.dev/io#Closer
type ContextEngine interface {
	// Info describes the engine. Contents are shared, read-only, and constant
	// for the life of the engine. ID and Name must not be blank.
	Info() Info
	// Ingest stores one message. Hosts call it, message by message, at the end
	// of a successful turn when the engine has none of CommitTurn, AfterTurn
	// and IngestBatch; a host with its own loop may call it at each append.
	// Ingested=false means that the engine already had the message or does not
	// store messages.
	Ingest(ctx context.Context, p IngestParams) (IngestResult, error)
	// Assemble returns the messages to send, within TokenBudget. A nil list for
	// a non-empty input is a contract violation; an empty one is deliberate.
	// The result may be the input slice itself or a part of it.
	Assemble(ctx context.Context, p AssembleParams) (AssembleResult, error)
	// Compact makes the session's context smaller. A compaction that could not
	// be done is a result with OK=false and a Reason, not an error. Engines
	// without a compaction of their own call [DelegateCompaction].
	Compact(ctx context.Context, p CompactParams) (CompactResult, error)
}

// The optional interfaces: one hook each. A hook may decline a single call by
// returning [ErrDeclined] itself; the caller then goes on as if the engine
// lacked the hook.
type (
	// A Bootstrapper is told when a session begins or is first seen by this
	// instance, so that it can import the transcript. Called once per [Handle]
	// and session, before the first append of that session.
	Bootstrapper interface {
		Bootstrap(ctx context.Context, p BootstrapParams) (BootstrapResult, error)
	}
	// A Maintainer may rewrite the transcript after bootstrap, after a
	// successful turn and after a compaction, through [RuntimeContext.Rewriter].
	Maintainer interface {
		Maintain(ctx context.Context, p MaintainParams) (transcript.RewriteResult, error)
	}
	// A BatchIngester stores a turn's new messages in one call.
	BatchIngester interface {
		IngestBatch(ctx context.Context, p IngestBatchParams) (IngestBatchResult, error)
	}
	// An AfterTurner sees the whole turn once it is over. Such an engine
	// receives neither Ingest nor IngestBatch at the end of a turn.
	AfterTurner interface {
		AfterTurn(ctx context.Context, p AfterTurnParams) error
	}
	// A TurnCommitter stores a turn atomically and idempotently under a key:
	// the same key again answers [CommitDuplicate].
	TurnCommitter interface {
		CommitTurn(ctx context.Context, p CommitTurnParams) (CommitTurnResult, error)
	}
	// A SubagentPreparer sets up the context of a child session before it is
	// dispatched. A nil preparation has nothing to roll back.
	SubagentPreparer interface {
		PrepareSubagentSpawn(ctx context.Context, p SubagentSpawnParams) (*SubagentPreparation, error)
	}
	// A SubagentEndObserver is told that a child session ended. One child may
	// end more than once (completed, later swept): be idempotent.
	SubagentEndObserver interface {
		OnSubagentEnded(ctx context.Context, p SubagentEndedParams) error
	}
	// A SessionEndObserver is told that a session was deleted, reset, rotated
	// or archived, and may forget it.
	SessionEndObserver interface {
		OnSessionEnded(ctx context.Context, p SessionEndedParams) error
	}
	// A ToolProvider offers the model tools of its own for the next turn. They
	// are gone with a quarantine.
	ToolProvider interface {
		Tools(ctx context.Context, p ToolsParams) ([]Tool, error)
	}
	// A HookReporter says which optional hooks count. Every wrapper that
	// implements more interfaces than the engine behind it returns
	// HooksOf(inner). See [HooksOf].
	HookReporter interface {
		Hooks() HookSet
	}
)

// Info describes an engine. It need not name the id under which the engine is
// registered: registry and quarantine use the registered id, host-requirement
// errors and runtime settings use ID.
type Info struct {
	ID      string // required, not blank
	Name    string // required, not blank; for people
	Version string // optional

	// OwnsCompaction says that the engine decides itself when and how history
	// shrinks: the host's automatic compaction and generic precheck are off, and
	// new messages are delivered during tool loops.
	OwnsCompaction bool
	// TurnMaintenance says whether Maintain after a turn runs before the turn
	// ends or in the background. "" means [MaintenanceForeground].
	TurnMaintenance MaintenanceMode
	// HostRequirements names what a host must be able to do, per operation. nil
	// or a missing operation requires nothing. See [CheckHost].
	HostRequirements map[Operation]HostRequirements
	// AcceptedHostParams lists the host-added fields that the engine wants; the
	// others are zeroed before every call. nil: every one; empty: none. Unknown
	// names are ignored.
	AcceptedHostParams []HostParam
	// TranscriptSemantics declares durability properties of the engine's store.
	TranscriptSemantics TranscriptSemantics
}

// TranscriptSemantics are optional promises about how an engine treats the
// transcript. Blank values promise nothing.
type TranscriptSemantics struct {
	CurrentTurnFence           string // e.g. [FenceBeforeCurrentTurn]
	TurnAdvancementIdempotency string // e.g. [AdvancementAtomicIdempotent]
}

// Values of [TranscriptSemantics] that hosts know.
const (
	// FenceBeforeCurrentTurn: Assemble never answers with messages of the turn
	// that is being admitted.
	FenceBeforeCurrentTurn = "before-current-turn-entry-v1"
	// AdvancementAtomicIdempotent: CommitTurn stores all or nothing, and storing
	// the same advancement key again changes nothing.
	AdvancementAtomicIdempotent = "atomic-idempotent-v1"
)

// MaintenanceMode says when Maintain runs after a turn.
type MaintenanceMode string

// Maintenance modes. The zero value means [MaintenanceForeground].
const (
	MaintenanceForeground MaintenanceMode = "foreground"
	MaintenanceBackground MaintenanceMode = "background"
)

// Valid reports whether m is a mode this version knows; "" is.
func (m MaintenanceMode) Valid() bool {
	return m == "" || m == MaintenanceForeground || m == MaintenanceBackground
}

// HostParam names a host-added field of params: a field that the original
// contract did not have and that an engine behind a strict schema may reject.
type HostParam string

// The host-added fields.
const (
	ParamSessionKey      HostParam = "sessionKey"
	ParamPrompt          HostParam = "prompt"
	ParamRuntimeSettings HostParam = "runtimeSettings"
	ParamSessionTarget   HostParam = "sessionTarget"
	ParamRuntimeContext  HostParam = "runtimeContext"
)

// HostParams returns the host-added fields in a fixed order.
func HostParams() []HostParam {
	return []HostParam{ParamSessionKey, ParamPrompt, ParamRuntimeSettings, ParamSessionTarget, ParamRuntimeContext}
}

// Valid reports whether p names a host-added field of this version.
func (p HostParam) Valid() bool { return p.mask() != 0 }

// paramMask is a set of host-added fields.
type paramMask uint8

const (
	maskSessionKey paramMask = 1 << iota
	maskPrompt
	maskSettings
	maskTarget
	maskRuntime

	maskAll = maskSessionKey | maskPrompt | maskSettings | maskTarget | maskRuntime
)

func (p HostParam) mask() paramMask {
	switch p {
	case ParamSessionKey:
		return maskSessionKey
	case ParamPrompt:
		return maskPrompt
	case ParamRuntimeSettings:
		return maskSettings
	case ParamSessionTarget:
		return maskTarget
	case ParamRuntimeContext:
		return maskRuntime
	}
	return 0
}

// rejectedBy returns the fields that an engine with these accepted params must
// not receive.
func rejectedBy(accepted []HostParam) paramMask {
	if accepted == nil {
		return 0
	}
	m := maskAll
	for _, p := range accepted {
		m &^= p.mask()
	}
	return m
}
