package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	ce "github.com/go-contextengine/contextengine"
)

// The reference's own names for itself and for its embedded runner. They belong to a host, not to
// the contract: a host of this library describes itself.
const (
	referenceHost          = "openclaw"
	referenceEmbeddedID    = "openclaw-embedded"
	referenceEmbeddedLabel = "OpenClaw embedded runner"
)

func hostOps() map[string]opFunc {
	return map[string]opFunc{
		"hostDescriptor": opHostDescriptor, "hostSupport": opHostSupport, "isActive": opIsActive,
		"runtimeCompactor": opRuntimeCompactor, "delegate": opDelegate, "runtimeSettings": opRuntimeSettings,
	}
}

// hostOf reads which host a step means.
func (w *world) hostOf(v any) (ce.HostSupport, error) {
	switch x := v.(type) {
	case string:
		switch x {
		case "embedded":
			host := ce.EmbeddedHost()
			host.ID, host.Label = referenceEmbeddedID, referenceEmbeddedLabel
			return host, nil
		case "codex":
			return ce.CodexHost(), nil
		}
	case map[string]any:
		r := read(x)
		if backend, ok := x["cli"].(string); ok {
			names := r.texts("capabilities")
			if names == nil {
				return ce.CLIHost(backend), r.misfit("a host")
			}
			host := ce.CLIHost(backend, capabilities(names)...)
			host.Capabilities = capabilities(names) // an empty list is a list
			return host, r.misfit("a host")
		}
		host := ce.HostSupport{ID: r.text("id"), Label: r.text("label"), Capabilities: capabilities(r.texts("capabilities"))}
		return host, r.misfit("a host")
	}
	return ce.HostSupport{}, w.skip("not a host")
}

func opHostDescriptor(_ context.Context, w *world, s step) (any, error) {
	host, err := w.hostOf(s.fields["host"])
	if err != nil {
		return nil, err
	}
	out := object{"id": host.ID, "label": host.Label, "capabilities": capabilityNames(host.Capabilities)}
	if given := s.object("host"); given != nil && given["cli"] == nil {
		for key := range out { // a record of one's own is what it is
			if absent(given[key]) {
				delete(out, key)
			}
		}
	}
	return out, nil
}

func capabilityNames(cs []ce.Capability) []any {
	out := make([]any, len(cs))
	for i, c := range cs {
		out[i] = string(c)
	}
	return out
}

// opHostSupport evaluates the requirements of an info record, and tells what the check says.
func opHostSupport(_ context.Context, w *world, s step) (any, error) {
	var info ce.Info
	if s.has("info") {
		var err error
		if info, err = infoOf(s.fields["info"]); err != nil {
			return nil, err
		}
	} else {
		on, err := w.engine(s.text("on"))
		if err != nil {
			return nil, err
		}
		info = on.handle.Info()
	}
	host, err := w.hostOf(s.fields["host"])
	if err != nil {
		return nil, err
	}
	operation := ce.Operation(s.text("operation"))
	if info.ID == ce.LegacyID {
		other := info
		other.ID = "another"
		if ce.CheckHost(other, operation, host) != nil {
			w.differ(differExempt)
		}
	}
	err = ce.CheckHost(info, operation, host)
	if err == nil {
		return object{"assert": "ok", "evaluate": object{"ok": true, "missingCapabilities": []any{}}}, nil
	}
	var req *ce.HostRequirementError
	if !errors.As(err, &req) {
		return nil, err
	}
	return object{
		"assert":   w.errorOutcome(err),
		"evaluate": object{"ok": false, "missingCapabilities": capabilityNames(req.Missing)},
	}, nil
}

// opIsActive reports whether anything but the default engine answers.
func opIsActive(_ context.Context, w *world, s step) (any, error) {
	if absent(s.fields["on"]) {
		return false, nil
	}
	on, err := w.engine(s.text("on"))
	if err != nil {
		return nil, err
	}
	return on.handle.Info().ID != ce.LegacyID, nil
}

// opDelegate hands a compaction to the lent compactor.
func opDelegate(ctx context.Context, w *world, s step) (any, error) {
	c := newCall("compact", s.object("params"), nil)
	p, err := compactParamsOf(w, c.raw)
	if err != nil {
		return nil, err
	}
	w.identify(&p, c.raw)
	ctx, _, release := withSignal(ctx, w, s.fields["signal"])
	defer release()
	res, err := ce.DelegateCompaction(withCall(ctx, c), p)
	if err != nil {
		return nil, err
	}
	return renderCompact(w, res, c.source()), nil
}

// identify fills in who a delegated compaction is for, where the reference looks for it: the
// call's own words come before those of its runtime context.
func (w *world) identify(p *ce.CompactParams, params object) {
	context, _ := params["runtimeContext"].(map[string]any)
	if key, ok := context["sessionKey"].(string); ok && p.SessionKey == "" {
		p.SessionKey = key
	}
	if agent, ok := params["agentId"].(string); ok && p.Runtime != nil {
		rt := *p.Runtime
		rt.AgentID = agent
		p.Runtime = &rt
	}
	other := func(a, b string) bool { return a != "" && b != "" && a != b }
	if other(p.Target.SessionID, p.SessionID) || other(p.Target.SessionKey, p.SessionKey) {
		w.differ(differIdentity)
	}
}

// opRuntimeSettings builds the settings. What is no text or no finite number counts as absent,
// as in the reference; a fraction has no place in a count of tokens.
func opRuntimeSettings(_ context.Context, w *world, s step) (any, error) {
	o := s.object("params")
	text := func(key string) string { v, _ := o[key].(string); return v }
	in := ce.RuntimeSettingsInput{
		HostName: referenceHost, Mode: ce.RuntimeMode(text("mode")),
		HarnessID: text("harnessId"), RuntimeID: text("runtimeId"),
		SelectedID: text("selectedContextEngineId"), Source: ce.SelectionSource(text("contextEngineSelectionSource")),
		RequestedModel: text("requestedModel"), ResolvedModel: text("resolvedModel"),
		Provider: text("provider"), Family: text("modelFamily"),
		FallbackReason: text("fallbackReason"), DegradedReason: text("degradedReason"),
	}
	host, ok := o["contextEngineHost"].(map[string]any)
	if !ok {
		return nil, w.skip("settings always have a host")
	}
	in.ExecutionHost.ID, _ = host["id"].(string)
	in.ExecutionHost.Label, _ = host["label"].(string)
	var err error
	if in.PromptTokenBudget, err = w.limit(o["promptTokenBudget"]); err != nil {
		return nil, err
	}
	if in.MaxOutputTokens, err = w.limit(o["maxOutputTokens"]); err != nil {
		return nil, err
	}
	for _, reason := range []string{in.FallbackReason, in.DegradedReason} {
		if string(ce.NormaliseReason(reason)) != referenceReason(reason) {
			w.differ(differReason)
		}
	}
	return jsonValue(ce.NewRuntimeSettings(in)), nil
}

// referenceReason is the code that the reference gives a free reason: by parts of words, the
// first that is found.
func referenceReason(text string) string {
	if text = trimmed(text); text == "" || ce.ReasonCode(text).Valid() {
		return text
	}
	text = strings.ToLower(text)
	for _, rule := range []struct {
		code  ce.ReasonCode
		parts []string
	}{
		{ce.CodeProviderTimeout, []string{"timeout"}},
		{ce.CodeRateLimited, []string{"rate", "limit", "429"}},
		{ce.CodeContextOverflow, []string{"overflow", "context", "pressure"}},
		{ce.CodeRuntimeUnavailable, []string{"runtime"}},
		{ce.CodeProviderUnavailable, []string{"provider", "primary", "unavailable"}},
	} {
		if slices.ContainsFunc(rule.parts, func(part string) bool { return strings.Contains(text, part) }) {
			return string(rule.code)
		}
	}
	return string(ce.CodeUnknown)
}

// limit reads a number of tokens; nil when there is none.
func (w *world) limit(v any) (*int, error) {
	if _, isNumber := v.(json.Number); !isNumber {
		return nil, nil
	}
	n, ok := intOf(v)
	if !ok {
		return nil, w.skip("a number of tokens is whole")
	}
	return &n, nil
}
