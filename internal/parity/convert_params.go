package main

import (
	"fmt"
	"strings"
	"time"

	ce "github.com/go-contextengine/contextengine"
)

// The functions below read the params that a step wrote into the Go params of a hook. What has
// no place there travels in the call's context, where the scripted engine finds it.

// misfit turns what did not fit into an error.
func (r *reader) misfit(what string) error {
	if len(r.bad) == 0 {
		return nil
	}
	return &noMeaning{fmt.Sprintf("%s of %s cannot be written in Go", strings.Join(r.bad, ", "), what)}
}

func (r *reader) session() ce.SessionRef {
	return ce.SessionRef{
		SessionID: r.text("sessionId"), SessionKey: r.text("sessionKey"), SessionFile: r.text("sessionFile"),
	}
}

// target reads a session target. An empty one names the session, so that it can be told from
// none. The reference takes one out of the runtime context too.
func (r *reader) target() ce.SessionTarget {
	s := r.sub("sessionTarget")
	if s == nil {
		if rt, ok := r.o["runtimeContext"].(map[string]any); ok {
			s = read(rt).sub("sessionTarget")
		}
	}
	if s == nil {
		return ce.SessionTarget{}
	}
	t := sessionTargetOf(s)
	r.bad = append(r.bad, s.bad...)
	if t == (ce.SessionTarget{}) {
		t.SessionID = r.text("sessionId")
	}
	return t
}

func sessionTargetOf(s *reader) ce.SessionTarget {
	return ce.SessionTarget{
		AgentID: s.text("agentId"), SessionID: s.text("sessionId"), SessionKey: s.text("sessionKey"),
		StorePath: s.text("storePath"), ThreadID: s.text("threadId"),
	}
}

// settings reads the runtime settings; only that they are there matters to a scripted engine.
func (r *reader) settings() *ce.RuntimeSettings {
	s := r.sub("runtimeSettings")
	if s == nil {
		return nil
	}
	return &ce.RuntimeSettings{SchemaVersion: s.number("schemaVersion")}
}

// runtime reads the runtime context and lends the scripted compactor with it, if there is one.
func (r *reader) runtime(w *world) *ce.RuntimeContext {
	s := r.sub("runtimeContext")
	if s == nil {
		if w.lent == nil {
			return nil
		}
		s = read(nil)
	}
	rt := ce.RuntimeContext{
		Cwd: s.text("workspaceDir"), AgentID: s.text("agentId"),
		AllowDeferredCompaction: s.flag("allowDeferredCompactionExecution"),
	}
	// The reference takes nothing but positive numbers from here.
	if n, ok := intOf(s.o["currentTokenCount"]); ok && n > 0 {
		rt.CurrentTokens = n
	}
	if n, ok := intOf(s.o["tokenBudget"]); ok && n > 0 {
		rt.TokenBudget = n
	}
	if len(s.o) > 0 {
		rt.Extra = s.o
	}
	if w.lent != nil {
		rt.Compactor = w.lent
	}
	return ce.LendRuntime(rt)
}

func ingestParamsOf(w *world, o object) (ce.IngestParams, error) {
	r := read(o)
	p := ce.IngestParams{SessionRef: r.session(), IsHeartbeat: r.flag("isHeartbeat")}
	m, err := w.texts.message(o["message"])
	if err != nil {
		return p, err
	}
	p.Message = m
	return p, r.misfit("ingest params")
}

func ingestBatchParamsOf(w *world, o object) (ce.IngestBatchParams, error) {
	r := read(o)
	p := ce.IngestBatchParams{SessionRef: r.session(), IsHeartbeat: r.flag("isHeartbeat")}
	ms, err := w.texts.messages(o["messages"])
	if err != nil {
		return p, err
	}
	p.Messages = ms
	return p, r.misfit("ingestBatch params")
}

func assembleParamsOf(w *world, o object) (ce.AssembleParams, error) {
	r := read(o)
	p := ce.AssembleParams{
		SessionRef: r.session(), TokenBudget: r.number("tokenBudget"), Model: r.text("model"),
		CitationsMode: ce.CitationsMode(r.text("citationsMode")), AvailableTools: r.texts("availableTools"),
		Prompt: r.textPointer("prompt"), Settings: r.settings(),
	}
	if _, ok := o["runtimeContext"]; ok {
		p.Runtime = r.runtime(w)
	}
	ms, err := w.texts.messages(o["messages"])
	if err != nil {
		return p, err
	}
	p.Messages = ms
	return p, r.misfit("assemble params")
}

func compactParamsOf(w *world, o object) (ce.CompactParams, error) {
	r := read(o)
	p := ce.CompactParams{
		SessionRef: r.session(), Target: r.target(), TokenBudget: r.number("tokenBudget"),
		CurrentTokens: r.number("currentTokenCount"), Force: r.flag("force"),
		Goal: ce.CompactionGoal(r.text("compactionTarget")), CustomInstructions: r.text("customInstructions"),
		Settings: r.settings(), Runtime: r.runtime(w),
	}
	return p, r.misfit("compact params")
}

func bootstrapParamsOf(w *world, o object) (ce.BootstrapParams, error) {
	r := read(o)
	p := ce.BootstrapParams{SessionRef: r.session(), Target: r.target(), Settings: r.settings(), Runtime: r.runtime(w)}
	return p, r.misfit("bootstrap params")
}

func maintainParamsOf(w *world, o object) (ce.MaintainParams, error) {
	r := read(o)
	p := ce.MaintainParams{SessionRef: r.session(), Target: r.target(), Settings: r.settings(), Runtime: r.runtime(w)}
	return p, r.misfit("maintain params")
}

func afterTurnParamsOf(w *world, o object) (ce.AfterTurnParams, error) {
	r := read(o)
	p := ce.AfterTurnParams{
		SessionRef: r.session(), Target: r.target(), Settings: r.settings(), Runtime: r.runtime(w),
		PrePromptMessageCount: r.number("prePromptMessageCount"), IsHeartbeat: r.flag("isHeartbeat"),
		AutoCompactionSummary: r.text("autoCompactionSummary"), TokenBudget: r.number("tokenBudget"),
	}
	ms, err := w.texts.messages(o["messages"])
	if err != nil {
		return p, err
	}
	p.Messages = ms
	return p, r.misfit("afterTurn params")
}

func subagentSpawnParamsOf(_ *world, o object) (ce.SubagentSpawnParams, error) {
	r := read(o)
	p := ce.SubagentSpawnParams{
		ParentSessionKey: r.text("parentSessionKey"), ChildSessionKey: r.text("childSessionKey"),
		Mode:   ce.SubagentMode(r.text("contextMode")),
		TTL:    time.Duration(r.number("ttlMs")) * time.Millisecond,
		Parent: ce.SessionRef{SessionID: r.text("parentSessionId"), SessionFile: r.text("parentSessionFile")},
		Child:  ce.SessionRef{SessionID: r.text("childSessionId"), SessionFile: r.text("childSessionFile")},
	}
	return p, r.misfit("prepareSubagentSpawn params")
}

func subagentEndedParamsOf(_ *world, o object) (ce.SubagentEndedParams, error) {
	r := read(o)
	p := ce.SubagentEndedParams{
		ChildSessionKey: r.text("childSessionKey"), Reason: ce.SubagentEndReason(r.text("reason")),
	}
	return p, r.misfit("onSubagentEnded params")
}
