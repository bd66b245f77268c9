package contextengine

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// RuntimeSettingsVersion is the schema version of [RuntimeSettings].
const RuntimeSettingsVersion = 1

// RuntimeSettings tell an engine under what circumstances it runs. They are
// built for each call by [NewRuntimeSettings] and never changed afterwards. In
// JSON every leaf that is unknown is an explicit null. They are for engines: no
// command, report or log prints them.
type RuntimeSettings struct {
	SchemaVersion int `json:"schemaVersion"`
	Runtime       struct {
		Host      string  `json:"host"`
		Mode      string  `json:"mode"` // a [RuntimeMode]
		HarnessID *string `json:"harnessId"`
		RuntimeID *string `json:"runtimeId"`
	} `json:"runtime"`
	Selection struct {
		SelectedID *string         `json:"selectedId"`
		Source     SelectionSource `json:"source"`
	} `json:"contextEngineSelection"`
	ExecutionHost struct {
		ID    *string `json:"id"`
		Label *string `json:"label"`
	} `json:"executionHost"`
	Model struct {
		Requested *string `json:"requested"`
		Resolved  *string `json:"resolved"`
		Provider  *string `json:"provider"`
		Family    *string `json:"family"`
	} `json:"model"`
	Limits struct {
		PromptTokenBudget *int `json:"promptTokenBudget"` // tokens
		MaxOutputTokens   *int `json:"maxOutputTokens"`   // tokens
	} `json:"limits"`
	Diagnostics struct {
		FallbackReason *string `json:"fallbackReason"` // a [ReasonCode]
		DegradedReason *string `json:"degradedReason"` // a [ReasonCode]
	} `json:"diagnostics"`
}

// RuntimeMode says how a run stands.
type RuntimeMode string

// Runtime modes.
const (
	ModeNormal   RuntimeMode = "normal"
	ModeFallback RuntimeMode = "fallback" // another model than the requested one answers
	ModeDegraded RuntimeMode = "degraded" // something was given up to go on
)

// Valid reports whether m is known; "" is (derived by [NewRuntimeSettings]).
func (m RuntimeMode) Valid() bool {
	return m == "" || m == ModeNormal || m == ModeFallback || m == ModeDegraded
}

// SelectionSource says where the selected engine comes from.
type SelectionSource string

// Selection sources.
const (
	SourceConfigured SelectionSource = "configured" // the slot names it
	SourceDefault    SelectionSource = "default"    // the slot is blank, or legacy stands in
	SourceUnknown    SelectionSource = "unknown"
)

// Valid reports whether s is known; "" is (derived by [NewRuntimeSettings]).
func (s SelectionSource) Valid() bool {
	return s == "" || s == SourceConfigured || s == SourceDefault || s == SourceUnknown
}

// RuntimeSettingsInput is what a host knows. Blank strings and nil are unknown.
type RuntimeSettingsInput struct {
	HostName             string          // "": contextengine
	Mode                 RuntimeMode     // "": derived from the reasons and the models
	HarnessID, RuntimeID string          // of the process that runs the model loop
	SelectedID           string          // Info.ID of the engine that answers
	Source               SelectionSource // "": configured with a SelectedID, else unknown
	ExecutionHost        HostSupport     // whose ID and Label are told

	// The model that was asked for and the one that answers.
	RequestedModel, ResolvedModel, Provider, Family string

	// Limits in tokens; nil: unknown.
	PromptTokenBudget, MaxOutputTokens *int

	// Why the run fell back or degraded.
	FallbackReason, DegradedReason string // free text or a code, see [NormaliseReason]
}

// NewRuntimeSettings builds settings of schema version 1: strings are trimmed
// and blank ones become null, reasons become codes, and the mode is, where it is
// not given, degraded with a degraded reason, else fallback with a fallback
// reason or when another model than the requested one was resolved, else normal.
func NewRuntimeSettings(in RuntimeSettingsInput) *RuntimeSettings {
	s := &RuntimeSettings{SchemaVersion: RuntimeSettingsVersion}
	s.Runtime.Host = cmp.Or(strings.TrimSpace(in.HostName), "contextengine")
	s.Runtime.HarnessID, s.Runtime.RuntimeID = known(in.HarnessID), known(in.RuntimeID)
	s.Selection.SelectedID = known(in.SelectedID)
	s.Selection.Source = in.Source
	if s.Selection.Source == "" {
		s.Selection.Source = SourceUnknown
		if s.Selection.SelectedID != nil {
			s.Selection.Source = SourceConfigured
		}
	}
	s.ExecutionHost.ID, s.ExecutionHost.Label = known(in.ExecutionHost.ID), known(in.ExecutionHost.Label)
	s.Model.Requested, s.Model.Resolved = known(in.RequestedModel), known(in.ResolvedModel)
	s.Model.Provider, s.Model.Family = known(in.Provider), known(in.Family)
	s.Limits.PromptTokenBudget, s.Limits.MaxOutputTokens = copied(in.PromptTokenBudget), copied(in.MaxOutputTokens)
	s.Diagnostics.FallbackReason = known(string(NormaliseReason(in.FallbackReason)))
	s.Diagnostics.DegradedReason = known(string(NormaliseReason(in.DegradedReason)))
	s.Runtime.Mode = string(in.Mode)
	if in.Mode == "" {
		s.Runtime.Mode = string(s.mode())
	}
	return s
}

func (s *RuntimeSettings) mode() RuntimeMode {
	m := s.Model
	switch {
	case s.Diagnostics.DegradedReason != nil:
		return ModeDegraded
	case s.Diagnostics.FallbackReason != nil,
		m.Requested != nil && m.Resolved != nil && *m.Requested != *m.Resolved:
		return ModeFallback
	}
	return ModeNormal
}

func known(s string) *string {
	if s = strings.TrimSpace(s); s == "" {
		return nil
	}
	return &s
}

func copied(n *int) *int {
	if n == nil {
		return nil
	}
	v := *n
	return &v
}

// A ReasonCode says why a run fell back or degraded.
type ReasonCode string

// The closed set of reason codes.
const (
	CodeProviderTimeout     ReasonCode = "provider_timeout"
	CodeProviderUnavailable ReasonCode = "provider_unavailable"
	CodeRateLimited         ReasonCode = "rate_limited"
	CodeContextOverflow     ReasonCode = "context_overflow"
	CodeRuntimeUnavailable  ReasonCode = "runtime_unavailable"
	CodeUnknown             ReasonCode = "unknown"
)

// ReasonCodes returns the closed set in a fixed order.
func ReasonCodes() []ReasonCode {
	return []ReasonCode{
		CodeProviderTimeout, CodeProviderUnavailable, CodeRateLimited,
		CodeContextOverflow, CodeRuntimeUnavailable, CodeUnknown,
	}
}

// Valid reports whether c is in the closed set.
func (c ReasonCode) Valid() bool { return slices.Contains(ReasonCodes(), c) }

// NormaliseReason turns free text into a code; blank text is "". It compares
// whole words, so that "separate" is not a rate limit and "runtime context lost"
// no overflow. In order:
//
//   - a code itself, in any case, with blanks or hyphens for underscores
//   - timeout, timed out, deadline exceeded → provider_timeout
//   - 429, quota, ratelimit(ed), throttled, throttling; rate with limit(s), limited, limiting or
//     exceeded; too many requests → rate_limited
//   - overflow, pressure; context, token(s) or prompt with limit, length, window,
//     exceeded, maximum, size, many or long → context_overflow
//   - runtime, harness → runtime_unavailable
//   - provider, primary, unavailable, overloaded, 502, 503, 529 →
//     provider_unavailable
//   - anything else → unknown
func NormaliseReason(text string) ReasonCode {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if len(words) == 0 {
		if strings.TrimSpace(text) == "" {
			return ""
		}
		return CodeUnknown
	}
	if code := ReasonCode(strings.Join(words, "_")); code.Valid() {
		return code
	}
	has := func(any ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(any, w) })
	}
	phrase := func(p string) bool { return strings.Contains(" "+strings.Join(words, " ")+" ", " "+p+" ") }
	switch {
	case has("timeout", "timeouts"), phrase("timed out"), phrase("deadline exceeded"):
		return CodeProviderTimeout
	case has("429", "quota", "ratelimit", "ratelimited", "throttled", "throttling"), phrase("too many requests"),
		has("rate") && has("limit", "limits", "limited", "limiting", "exceeded"):
		return CodeRateLimited
	case has("overflow", "overflowed", "pressure"),
		has("context", "token", "tokens", "prompt") && has("limit", "length", "window", "exceeded", "exceeds", "maximum", "size", "many", "long"):
		return CodeContextOverflow
	case has("runtime", "harness"):
		return CodeRuntimeUnavailable
	case has("provider", "primary", "unavailable", "overloaded", "502", "503", "529"):
		return CodeProviderUnavailable
	}
	return CodeUnknown
}
