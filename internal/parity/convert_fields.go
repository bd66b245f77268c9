package main

import (
	"encoding/json"

	ce "github.com/go-contextengine/contextengine"
)

// The functions below write typed params by their recorded names, set fields only. They are
// what a scripted engine says that it received.

type fieldSet object

func (o fieldSet) text(key, v string) fieldSet {
	if v != "" {
		o[key] = v
	}
	return o
}

func (o fieldSet) number(key string, v int) fieldSet {
	if v != 0 {
		o[key] = numberOf(v)
	}
	return o
}

func (o fieldSet) flag(key string, v bool) fieldSet {
	if v {
		o[key] = v
	}
	return o
}

func (o fieldSet) session(ref ce.SessionRef) fieldSet {
	return o.text("sessionId", ref.SessionID).text("sessionKey", ref.SessionKey).text("sessionFile", ref.SessionFile)
}

func (o fieldSet) target(t ce.SessionTarget) fieldSet {
	if t != (ce.SessionTarget{}) {
		o["sessionTarget"] = jsonValue(t)
	}
	return o
}

func (o fieldSet) host(settings *ce.RuntimeSettings, runtime *ce.RuntimeContext) fieldSet {
	if settings != nil {
		o["runtimeSettings"] = jsonValue(settings)
	}
	if runtime != nil {
		o["runtimeContext"] = runtimeFields(runtime)
	}
	return o
}

func runtimeFields(rt *ce.RuntimeContext) object {
	o := fieldSet{}
	o.text("cwd", rt.Cwd).text("agentId", rt.AgentID).number("tokenBudget", rt.TokenBudget)
	o.number("currentTokenCount", rt.CurrentTokens)
	o.flag("allowDeferredCompactionExecution", rt.AllowDeferredCompaction)
	if rt.Rewriter != nil {
		o["rewriteTranscriptEntries"] = "$function"
	}
	if rt.Completer != nil {
		o["llm"] = object{"complete": "$function"}
	}
	return object(o)
}

// jsonValue gives a typed value as a decoded JSON value.
func jsonValue(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	out, err := decodeJSON(raw)
	if err != nil {
		return nil
	}
	return out
}

func (w *world) ingestFields(p ce.IngestParams) object {
	o := fieldSet{"message": w.texts.render(p.Message)}
	return object(o.session(p.SessionRef).flag("isHeartbeat", p.IsHeartbeat))
}

func (w *world) ingestBatchFields(p ce.IngestBatchParams) object {
	o := fieldSet{"messages": w.texts.renderAll(p.Messages)}
	return object(o.session(p.SessionRef).flag("isHeartbeat", p.IsHeartbeat))
}

func (w *world) assembleFields(p ce.AssembleParams) object {
	o := fieldSet{"messages": w.texts.renderAll(p.Messages)}
	o.session(p.SessionRef).number("tokenBudget", p.TokenBudget).text("model", p.Model)
	o.text("citationsMode", string(p.CitationsMode)).host(p.Settings, p.Runtime)
	if p.Prompt != nil {
		o["prompt"] = *p.Prompt
	}
	if p.AvailableTools != nil {
		tools := make(setValue, len(p.AvailableTools))
		for i, name := range p.AvailableTools {
			tools[i] = name
		}
		o["availableTools"] = tools
	}
	return object(o)
}

func (w *world) compactFields(p ce.CompactParams) object {
	o := fieldSet{}
	o.session(p.SessionRef).target(p.Target).host(p.Settings, p.Runtime)
	o.number("tokenBudget", p.TokenBudget).number("currentTokenCount", p.CurrentTokens)
	o.flag("force", p.Force).text("compactionTarget", string(p.Goal)).text("customInstructions", p.CustomInstructions)
	return object(o)
}

func (w *world) bootstrapFields(p ce.BootstrapParams) object {
	return object(fieldSet{}.session(p.SessionRef).target(p.Target).host(p.Settings, p.Runtime))
}

func (w *world) maintainFields(p ce.MaintainParams) object {
	return object(fieldSet{}.session(p.SessionRef).target(p.Target).host(p.Settings, p.Runtime))
}

func (w *world) afterTurnFields(p ce.AfterTurnParams) object {
	o := fieldSet{
		"messages":              w.texts.renderAll(p.Messages),
		"prePromptMessageCount": numberOf(p.PrePromptMessageCount),
	}
	o.session(p.SessionRef).target(p.Target).host(p.Settings, p.Runtime)
	o.text("autoCompactionSummary", p.AutoCompactionSummary).flag("isHeartbeat", p.IsHeartbeat)
	return object(o.number("tokenBudget", p.TokenBudget))
}

func (w *world) subagentSpawnFields(p ce.SubagentSpawnParams) object {
	o := fieldSet{}
	o.text("parentSessionKey", p.ParentSessionKey).text("childSessionKey", p.ChildSessionKey)
	o.text("contextMode", string(p.Mode)).number("ttlMs", int(p.TTL.Milliseconds()))
	o.text("parentSessionId", p.Parent.SessionID).text("parentSessionFile", p.Parent.SessionFile)
	return object(o.text("childSessionId", p.Child.SessionID).text("childSessionFile", p.Child.SessionFile))
}

func (w *world) subagentEndedFields(p ce.SubagentEndedParams) object {
	o := fieldSet{}
	return object(o.text("childSessionKey", p.ChildSessionKey).text("reason", string(p.Reason)))
}
