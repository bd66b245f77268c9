package contextengine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// A RuntimeContext carries what the host lends an engine for one call. It is
// shared and read-only; a nil *RuntimeContext lends nothing. Make one with
// [LendRuntime]: then what it lends fails with a [*HostError], which is never
// the engine's fault.
type RuntimeContext struct {
	Cwd           string // working directory of the run; "": unknown
	AgentID       string
	TokenBudget   int // tokens; 0: unknown
	CurrentTokens int // observed size of the context, tokens; 0: unknown
	// AllowDeferredCompaction is set in background maintenance only: an engine
	// may now do the compaction that it put off.
	AllowDeferredCompaction bool
	PromptCache             *PromptCacheInfo // nil: unknown
	Compactor               Compactor        // built-in compaction; nil: none
	Rewriter                Rewriter         // transcript rewriting; only inside Maintain
	Completer               Completer        // model access; nil: none
	Memory                  MemorySection    // prepared and frozen for this run; nil: none
	Estimator               tokens.Estimator // the host's token accounting; nil: none
	Extra                   map[string]any   // host-private
}

// A Compactor is the host's built-in compaction. Safe for concurrent use. An
// ordinary failure is a result with OK=false and a Reason.
type Compactor interface {
	CompactSession(ctx context.Context, p CompactParams) (CompactResult, error)
}

// A Rewriter replaces messages of the session's transcript.
type Rewriter interface {
	Rewrite(ctx context.Context, r transcript.RewriteRequest) (transcript.RewriteResult, error)
}

// A Completer asks the host's model.
type Completer interface {
	Complete(ctx context.Context, r CompletionRequest) (Completion, error)
}

// A CompletionRequest is one question to a model.
type CompletionRequest struct {
	System   string // system prompt; "": none
	Messages []message.Message
	// Model asks for another model than the session's. Hosts refuse it unless
	// they were told to allow it.
	Model       string
	MaxTokens   int      // output tokens; 0: the host's default
	Temperature *float64 // nil: the provider's default
	Purpose     string   // why, for accounting: "compaction", "after-turn"
}

// A Completion is a model's answer. Text joins its text parts.
type Completion struct {
	Text, Provider, Model string
	// StopReason is why the answer ended, as in [message.Message]; message.StopLength: at
	// its limit, so that its end is missing. "": unknown.
	StopReason string
	Usage      *message.Usage // nil: unknown
}

// PromptCacheInfo says what is known of the provider's prompt cache.
type PromptCacheInfo struct {
	Retention   string         // none, short, long, in_memory, 24h; "": unknown
	LastCall    *message.Usage // usage of the last call alone; nil: unknown
	Broke       bool           // the last call missed a prefix that the one before had cached
	Changes     []string       // what changed in front of the break: model, tools, systemPrompt, …
	LastTouchAt time.Time      // when a call last read or wrote the cache; zero: unknown
	ExpiresAt   time.Time      // zero: unknown
}

// A Tool is something the model can call. Safe for concurrent use.
type Tool interface {
	// Name is how the model calls it; unique in a run, not blank.
	Name() string
	// Description tells the model what the tool is for.
	Description() string
	// Schema is the JSON Schema of the arguments; nil: no arguments.
	Schema() json.RawMessage
	// Call runs the tool with the arguments as the model wrote them. An error
	// becomes a tool result that is marked as one.
	Call(ctx context.Context, arguments json.RawMessage) ([]message.Block, error)
}
