package contextengine_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

func TestSpec01_15_07_RuntimeSettingsJSON(t *testing.T) {
	data, err := json.Marshal(ce.NewRuntimeSettings(ce.RuntimeSettingsInput{}))
	require.NoError(t, err)
	require.JSONEq(t, `{
		"schemaVersion": 1,
		"runtime": {"host": "contextengine", "mode": "normal", "harnessId": null, "runtimeId": null},
		"contextEngineSelection": {"selectedId": null, "source": "unknown"},
		"executionHost": {"id": null, "label": null},
		"model": {"requested": null, "resolved": null, "provider": null, "family": null},
		"limits": {"promptTokenBudget": null, "maxOutputTokens": null},
		"diagnostics": {"fallbackReason": null, "degradedReason": null}
	}`, string(data))

	budget := 0
	full := ce.NewRuntimeSettings(ce.RuntimeSettingsInput{
		HostName: " mine ", HarnessID: "h", RuntimeID: " ", SelectedID: " lossless ", ExecutionHost: ce.EmbeddedHost(),
		RequestedModel: "a", ResolvedModel: " a ", Provider: "p", PromptTokenBudget: &budget,
		FallbackReason: "HTTP 429",
	})
	budget = 5
	data, err = json.Marshal(full)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"schemaVersion": 1,
		"runtime": {"host": "mine", "mode": "fallback", "harnessId": "h", "runtimeId": null},
		"contextEngineSelection": {"selectedId": "lossless", "source": "configured"},
		"executionHost": {"id": "embedded", "label": "embedded host"},
		"model": {"requested": "a", "resolved": "a", "provider": "p", "family": null},
		"limits": {"promptTokenBudget": 0, "maxOutputTokens": null},
		"diagnostics": {"fallbackReason": "rate_limited", "degradedReason": null}
	}`, string(data))
	var back ce.RuntimeSettings
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, *full, back)
}

func TestSpec01_15_07_Mode(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   ce.RuntimeSettingsInput
		want string
	}{
		{"nothing", ce.RuntimeSettingsInput{}, "normal"},
		{"another model", ce.RuntimeSettingsInput{RequestedModel: "a", ResolvedModel: "b"}, "fallback"},
		{"the same, padded", ce.RuntimeSettingsInput{RequestedModel: "a", ResolvedModel: " a "}, "normal"},
		{"letter case counts", ce.RuntimeSettingsInput{RequestedModel: "A", ResolvedModel: "a"}, "fallback"},
		{"only one known", ce.RuntimeSettingsInput{RequestedModel: "a"}, "normal"},
		{"fallback reason", ce.RuntimeSettingsInput{FallbackReason: "timeout"}, "fallback"},
		{"blank reason", ce.RuntimeSettingsInput{FallbackReason: "  "}, "normal"},
		{"degraded beats fallback", ce.RuntimeSettingsInput{FallbackReason: "timeout", DegradedReason: "pressure"}, "degraded"},
		{"explicit wins", ce.RuntimeSettingsInput{Mode: ce.ModeNormal, DegradedReason: "pressure"}, "normal"},
		{"unknown modes survive", ce.RuntimeSettingsInput{Mode: "weird"}, "weird"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, ce.NewRuntimeSettings(tt.in).Runtime.Mode)
		})
	}
}

func TestSpec01_15_07_SelectionSource(t *testing.T) {
	require.Equal(t, ce.SourceConfigured, ce.NewRuntimeSettings(ce.RuntimeSettingsInput{SelectedID: "legacy"}).Selection.Source)
	require.Equal(t, ce.SourceDefault, ce.NewRuntimeSettings(ce.RuntimeSettingsInput{SelectedID: "legacy", Source: ce.SourceDefault}).Selection.Source)
	require.Equal(t, ce.SourceUnknown, ce.NewRuntimeSettings(ce.RuntimeSettingsInput{}).Selection.Source)
}

func TestSpec01_15_07_ReasonCodes(t *testing.T) {
	for text, want := range map[string]ce.ReasonCode{
		"": "", " \t": "", "--": ce.CodeUnknown, "weird": ce.CodeUnknown,
		" provider_timeout ": ce.CodeProviderTimeout, "Provider-Timeout": ce.CodeProviderTimeout, "RATE_LIMITED": ce.CodeRateLimited,
		"request timed out": ce.CodeProviderTimeout, "context deadline exceeded": ce.CodeProviderTimeout,
		"429": ce.CodeRateLimited, "rate limit reached": ce.CodeRateLimited, "Too Many Requests": ce.CodeRateLimited, "quota": ce.CodeRateLimited,
		"context overflow": ce.CodeContextOverflow, "pressure": ce.CodeContextOverflow, "Context limit exceeded": ce.CodeContextOverflow,
		"token limit": ce.CodeContextOverflow, "prompt is too long": ce.CodeContextOverflow,
		"runtime died": ce.CodeRuntimeUnavailable, "primary": ce.CodeProviderUnavailable, "503": ce.CodeProviderUnavailable, "overloaded": ce.CodeProviderUnavailable,
		"Rate limit reached on tokens per min (TPM): Limit 30000": ce.CodeRateLimited, "rateLimited": ce.CodeRateLimited,
		// What a substring test would get wrong.
		"separate": ce.CodeUnknown, "generate": ce.CodeUnknown, "unlimited": ce.CodeUnknown, "model limit": ce.CodeUnknown,
		"runtime context lost": ce.CodeRuntimeUnavailable, "error 14290": ce.CodeUnknown,
	} {
		t.Run(text, func(t *testing.T) { require.Equal(t, want, ce.NormaliseReason(text)) })
	}
}
