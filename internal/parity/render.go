package main

import (
	"encoding/json"
	"strconv"
	"sync"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// A rendering writes a typed result by its recorded names. A zero is written when the engine
// wrote it, or when no scripted engine answered and the reference writes it always.
type rendering struct {
	out    fieldSet
	source object // what the engine returned; nil: another answered
}

func render(source object) rendering { return rendering{out: fieldSet{}, source: source} }

func (r rendering) member(key string, v any, zero, always bool) {
	_, written := r.source[key]
	if !zero || written || r.source == nil && always {
		r.out[key] = v
	}
}

func (r rendering) text(key, v string) { r.member(key, v, v == "", false) }

func (r rendering) number(key string, v int, always bool) { r.member(key, numberOf(v), v == 0, always) }

func (r rendering) flag(key string, v bool) { r.member(key, v, !v, true) }

func renderIngest(_ *world, p ce.IngestResult, source object) any {
	r := render(source)
	r.flag("ingested", p.Ingested)
	return object(r.out)
}

func renderIngestBatch(_ *world, p ce.IngestBatchResult, source object) any {
	r := render(source)
	r.number("ingestedCount", p.IngestedCount, true)
	return object(r.out)
}

func renderBootstrap(_ *world, p ce.BootstrapResult, source object) any {
	r := render(source)
	r.flag("bootstrapped", p.Bootstrapped)
	r.number("importedMessages", p.ImportedMessages, false)
	r.text("reason", p.Reason)
	return object(r.out)
}

func renderMaintain(_ *world, p transcript.RewriteResult, source object) any {
	r := render(source)
	r.flag("changed", p.Changed)
	r.member("bytesFreed", json.Number(strconv.FormatInt(p.BytesFreed, 10)), p.BytesFreed == 0, true)
	r.number("rewrittenEntries", p.RewrittenEntries, true)
	r.text("reason", p.Reason)
	return object(r.out)
}

func renderAssemble(w *world, p ce.AssembleResult, source object) any {
	r := render(source)
	r.out["messages"] = w.texts.renderAll(p.Messages)
	r.number("estimatedTokens", p.EstimatedTokens, true)
	r.text("systemPromptAddition", p.SystemPromptAddition)
	r.text("promptAuthority", string(p.PromptAuthority))
	if p.Projection != nil {
		o := fieldSet{}
		o.text("mode", string(p.Projection.Mode)).text("epoch", p.Projection.Epoch)
		r.out["contextProjection"] = object(o.text("fingerprint", p.Projection.Fingerprint))
	}
	return object(r.out)
}

func renderCompact(_ *world, p ce.CompactResult, source object) any {
	r := render(source)
	r.flag("ok", p.OK)
	r.flag("compacted", p.Compacted)
	r.text("reason", string(p.Reason))
	if p.Result != nil {
		inner, _ := source["result"].(map[string]any)
		r.out["result"] = renderDetails(p.Result, inner)
	}
	return object(r.out)
}

func renderDetails(d *ce.CompactDetails, source object) any {
	r := render(source)
	r.text("summary", d.Summary)
	r.text("firstKeptEntryId", d.FirstKeptEntryID)
	r.number("tokensBefore", d.TokensBefore, true)
	if d.TokensAfter != nil {
		r.out["tokensAfter"] = numberOf(*d.TokensAfter)
	}
	if len(d.Details) > 0 {
		r.out["details"] = jsonValue(d.Details)
	}
	r.text("sessionId", d.SessionID)
	if d.SessionTarget != nil {
		r.out["sessionTarget"] = jsonValue(d.SessionTarget)
	}
	return object(r.out)
}

// renderPreparation writes a rollback handle; none is nothing.
func renderPreparation(_ *world, p *ce.SubagentPreparation, _ object) any {
	if p == nil || p.Rollback == nil {
		return undefinedValue{}
	}
	return object{"rollback": "$function"}
}

// messageTexts keeps the text that each message was read from, so that writing it again gives
// the same: a message that was a plain text stays one.
type messageTexts struct {
	mu sync.Mutex
	of map[string]any // by canonical JSON
}

func (t *messageTexts) message(v any) (message.Message, error) {
	var m message.Message
	if _, ok := v.(map[string]any); !ok {
		return m, &noMeaning{"a message is an object"}
	}
	raw, err := json.Marshal(plain(v))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, &noMeaning{"not a message: " + err.Error()}
	}
	key, err := json.Marshal(m)
	if err != nil {
		return m, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]any{}
	}
	if _, known := t.of[string(key)]; !known {
		t.of[string(key)] = v
	}
	return m, nil
}

// messages reads a list of messages; an absent one is nil.
func (t *messageTexts) messages(v any) ([]message.Message, error) {
	if absent(v) {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, &noMeaning{"messages are a list"}
	}
	out := make([]message.Message, len(list))
	for i, item := range list {
		m, err := t.message(item)
		if err != nil {
			return nil, err
		}
		out[i] = m
	}
	return out, nil
}

func (t *messageTexts) render(m message.Message) any {
	raw, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, ok := t.of[string(raw)]; ok {
		return v
	}
	return jsonValue(m)
}

func (t *messageTexts) renderAll(ms []message.Message) []any {
	out := make([]any, len(ms))
	for i, m := range ms {
		out[i] = t.render(m)
	}
	return out
}
