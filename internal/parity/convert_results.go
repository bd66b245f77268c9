package main

import (
	"fmt"
	"slices"
	"strings"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/transcript"
)

// whole is misfit, and every member must have found its place.
func (r *reader) whole(what string) error {
	for _, key := range r.rest() {
		r.bad = append(r.bad, fmt.Sprintf("the member %q", key))
	}
	slices.Sort(r.bad)
	return r.misfit(what)
}

// result starts to read what a scripted method returned; nothing is no result.
func result(v any, what string) (*reader, error) {
	if absent(v) {
		return nil, &noMeaning{"a " + what + " is always there"}
	}
	return read(v), nil
}

func ingestResultOf(_ *world, v any) (ce.IngestResult, error) {
	r, err := result(v, "result of ingest")
	if err != nil {
		return ce.IngestResult{}, err
	}
	out := ce.IngestResult{Ingested: r.flag("ingested")}
	return out, r.whole("an ingest result")
}

func ingestBatchResultOf(_ *world, v any) (ce.IngestBatchResult, error) {
	r, err := result(v, "result of ingestBatch")
	if err != nil {
		return ce.IngestBatchResult{}, err
	}
	out := ce.IngestBatchResult{IngestedCount: r.number("ingestedCount")}
	return out, r.whole("an ingestBatch result")
}

func bootstrapResultOf(_ *world, v any) (ce.BootstrapResult, error) {
	r, err := result(v, "result of bootstrap")
	if err != nil {
		return ce.BootstrapResult{}, err
	}
	out := ce.BootstrapResult{
		Bootstrapped: r.flag("bootstrapped"), ImportedMessages: r.number("importedMessages"), Reason: r.text("reason"),
	}
	return out, r.whole("a bootstrap result")
}

func maintainResultOf(_ *world, v any) (transcript.RewriteResult, error) {
	r, err := result(v, "result of maintain")
	if err != nil {
		return transcript.RewriteResult{}, err
	}
	out := transcript.RewriteResult{
		Changed: r.flag("changed"), BytesFreed: int64(r.number("bytesFreed")),
		RewrittenEntries: r.number("rewrittenEntries"), Reason: r.text("reason"),
	}
	return out, r.whole("a maintain result")
}

// assembleResultOf reads an assembly. One without messages has nil ones, as a Go engine that
// forgets them would.
func assembleResultOf(w *world, v any) (ce.AssembleResult, error) {
	r, err := result(v, "result of assemble")
	if err != nil {
		return ce.AssembleResult{}, err
	}
	out := ce.AssembleResult{
		EstimatedTokens:      r.number("estimatedTokens"),
		SystemPromptAddition: r.text("systemPromptAddition"),
		PromptAuthority:      ce.PromptAuthority(r.text("promptAuthority")),
	}
	if p := r.sub("contextProjection"); p != nil {
		out.Projection = &ce.Projection{
			Mode: ce.ProjectionMode(p.text("mode")), Epoch: p.text("epoch"), Fingerprint: p.text("fingerprint"),
		}
	}
	if ms, ok := r.take("messages"); ok {
		if out.Messages, err = w.texts.messages(ms); err != nil {
			return out, err
		}
	} else {
		w.differ(differMalformed)
	}
	return out, r.whole("an assemble result")
}

func compactResultOf(_ *world, v any) (ce.CompactResult, error) {
	r, err := result(v, "result of compact")
	if err != nil {
		return ce.CompactResult{}, err
	}
	out := ce.CompactResult{
		OK: r.flag("ok"), Compacted: r.flag("compacted"), Reason: ce.CompactionReason(r.text("reason")),
	}
	if d := r.sub("result"); d != nil {
		if out.Result, err = compactDetailsOf(d); err != nil {
			return out, err
		}
	}
	return out, r.whole("a compact result")
}

func compactDetailsOf(d *reader) (*ce.CompactDetails, error) {
	out := &ce.CompactDetails{
		Summary: d.text("summary"), FirstKeptEntryID: d.text("firstKeptEntryId"),
		TokensBefore: d.number("tokensBefore"), TokensAfter: d.numberPointer("tokensAfter"),
		SessionID: d.text("sessionId"), Details: d.raw("details"),
	}
	if t := d.sub("sessionTarget"); t != nil {
		target := sessionTargetOf(t)
		if err := t.whole("a session target"); err != nil {
			return nil, err
		}
		out.SessionTarget = &target
	}
	return out, d.whole("a compaction's details")
}

// infoOf reads an info record.
func infoOf(v any) (ce.Info, error) {
	if absent(v) {
		return ce.Info{}, nil
	}
	r := read(v)
	info := ce.Info{
		ID: r.text("id"), Name: r.text("name"), Version: r.text("version"),
		OwnsCompaction:  r.flag("ownsCompaction"),
		TurnMaintenance: ce.MaintenanceMode(r.text("turnMaintenanceMode")),
	}
	if names := r.texts("acceptedHostParams"); names != nil {
		info.AcceptedHostParams = []ce.HostParam{}
		for _, name := range names {
			info.AcceptedHostParams = append(info.AcceptedHostParams, ce.HostParam(name))
		}
	}
	if s := r.sub("transcriptSemantics"); s != nil {
		info.TranscriptSemantics = ce.TranscriptSemantics{
			CurrentTurnFence:           s.text("currentTurnFence"),
			TurnAdvancementIdempotency: s.text("turnAdvancementIdempotency"),
		}
	}
	if reqs := r.sub("hostRequirements"); reqs != nil {
		info.HostRequirements = map[ce.Operation]ce.HostRequirements{}
		for op := range reqs.o {
			q := reqs.sub(op)
			if q == nil {
				continue
			}
			info.HostRequirements[ce.Operation(op)] = ce.HostRequirements{
				Required: capabilities(q.texts("requiredCapabilities")), Unsupported: q.text("unsupportedMessage"),
			}
			r.bad = append(r.bad, q.bad...)
		}
	}
	return info, r.whole("an info record")
}

func capabilities(names []string) []ce.Capability {
	out := make([]ce.Capability, len(names))
	for i, name := range names {
		out[i] = ce.Capability(name)
	}
	return out
}

// infoFields writes an info record by its recorded names.
func infoFields(info ce.Info) object {
	o := fieldSet{}
	o.text("id", info.ID).text("name", info.Name).text("version", info.Version)
	o.flag("ownsCompaction", info.OwnsCompaction).text("turnMaintenanceMode", string(info.TurnMaintenance))
	if info.AcceptedHostParams != nil {
		o["acceptedHostParams"] = jsonValue(info.AcceptedHostParams)
	}
	reqs := object{}
	for op, r := range info.HostRequirements {
		reqs[string(op)] = object(fieldSet{"requiredCapabilities": jsonValue(r.Required)}.
			text("unsupportedMessage", strings.Clone(r.Unsupported)))
	}
	if len(reqs) > 0 {
		o["hostRequirements"] = reqs
	}
	return object(o)
}
