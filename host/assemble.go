package host

import (
	"context"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/internal/turn"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// An assembly is what an engine, or the transcript in its place, wants to send.
type assembly struct {
	ce.AssembleResult
	by      string // Info.ID of who answered
	covered int    // how many of the turn's own messages are in it
	budget  int    // what the engine was told; 0: unknown
	failed  bool   // the selected engine did not answer: it is the transcript
}

// assemble asks the engine what to send. Before the model was asked, the engine
// gets the view without the turn's input and the input's text; afterwards, and
// where a turn continues a stored tail, it gets everything. When no engine
// answers, the transcript does.
func (t *Turn) assemble(ctx context.Context) error {
	view, err := t.log.View(ctx)
	if err != nil {
		return err
	}
	t.moveTo(view.Generation, view.Messages)
	p := ce.AssembleParams{
		Messages: view.Messages, AvailableTools: toolNames(t.tools),
		CitationsMode: t.h.opts.Citations, Model: t.model.ID,
	}
	next := assembly{covered: len(t.own.messages)}
	if !t.running {
		text := t.input.Text()
		p.Messages, p.Prompt = t.base, &text
		next.covered = 0
	}
	p.TokenBudget = t.messageBudget(t.own.messages[next.covered:])
	p.Settings = t.settings(p.TokenBudget, "")
	next.budget = p.TokenBudget
	start := time.Now()
	watched, standIn := ce.WatchStandIn(ctx)
	next.AssembleResult, err = turn.Assemble(watched, t.engine.Handle, t.steps, p)
	t.observe(ctx, Event{Operation: OpAssemble, Duration: time.Since(start), TokensAfter: next.EstimatedTokens}, err)
	if err != nil {
		if !t.engine.settles(ctx, err) {
			return err
		}
		t.warn(ctx, "assemble failed, the transcript answers", err)
		next.AssembleResult = ce.AssembleResult{Messages: p.Messages}
	}
	next.by, next.failed = t.engine.Info().ID, err != nil
	if standIn.Answered() { // for this time, or for good
		next.by, next.failed = ce.LegacyID, true
	}
	t.assembly, t.request, t.stale = next, nil, false
	t.list = nil
	return nil
}

// moveTo takes notice of a compaction, a rewrite, a change of branch or another session: the
// view that the turn started from is then the present one without the turn's rows.
func (t *Turn) moveTo(g transcript.Generation, view []message.Message) {
	if g == t.generation && t.of == t.ref.SessionID {
		return
	}
	t.generation, t.of = g, t.ref.SessionID
	t.base = t.own.without(view)
}

// messageBudget is what an engine's list may cost: the prompt budget without
// system prompt, tools, the host's context and the messages that come after the list.
// 0: unknown.
func (t *Turn) messageBudget(after []message.Message) int {
	b := t.budget()
	if !b.Known() {
		return 0
	}
	return max(1, b.Prompt()-t.aroundTokens()-t.h.meter.Messages(after))
}

// toolNames keeps the difference between no tools and not knowing.
func toolNames(tools []ce.Tool) []string {
	if tools == nil {
		return nil
	}
	names := make([]string, len(tools))
	for i, tool := range tools {
		names[i] = tool.Name()
	}
	return names
}

// toolLoop is the hook before each request of a tool loop. An engine that owns
// compaction is given what is new, once, and assembles anew. For any other the
// first assembly stays and the turn's messages follow it, unless another engine
// answers by now.
func (t *Turn) toolLoop(ctx context.Context) error {
	if !t.own.awaitsModel() {
		return nil
	}
	view, err := t.log.View(ctx)
	if err != nil {
		return err
	}
	if view.Generation != t.generation { // somebody rewrote or compacted the history
		t.moveTo(view.Generation, view.Messages)
		t.stale = true
	}
	if t.engine.Info().OwnsCompaction {
		if err := t.deliver(ctx); err != nil {
			return err
		}
	}
	if info := t.engine.Info(); info.OwnsCompaction || info.ID != t.assembly.by || t.stale {
		if err := t.assemble(ctx); err != nil {
			return err
		}
	}
	if t.h.opts.CheckMidTurn {
		return t.precheck(ctx)
	}
	return nil
}

// deliver gives the engine what it was not given yet. An engine that commits
// whole turns and has no other hook for it gets them at the end.
func (t *Turn) deliver(ctx context.Context) error {
	hooks := ce.HooksOf(t.engine.Handle)
	if hooks.Has(ce.HookCommitTurn) && !hooks.Has(ce.HookAfterTurn) {
		return nil
	}
	start := time.Now()
	err := turn.Deliver(ctx, t.engine.Handle, t.steps, t.ending())
	t.observe(ctx, Event{Operation: OpAfterTurn, Reason: "tool loop", Duration: time.Since(start)}, err)
	switch {
	case err == nil:
		t.delivered, t.deliveredTo = len(t.own.messages), t.engine.Info().ID
		t.leaveOver(true) // a host that continues after a crash does not deliver that again
		t.checkpoint(ctx)
	case !t.engine.settles(ctx, err):
		return err
	default:
		t.warn(ctx, "delivering in the tool loop failed", err)
	}
	return nil
}
