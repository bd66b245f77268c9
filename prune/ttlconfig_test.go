package prune_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/prune"
)

func TestParseCacheTTLClamps(t *testing.T) {
	t.Parallel()
	o, on, err := prune.ParseCacheTTL(json.RawMessage(`{"mode":"cache-ttl","keepLastAssistants":2.7,"softTrimRatio":3,
		"hardClearRatio":-1,"minPrunableToolChars":-5,"softTrim":{"headChars":0,"maxChars":10},"hardClear":{"enabled":false,"placeholder":"  "}}`))
	require.NoError(t, err)
	require.True(t, on)
	e := o.Effective()
	require.Equal(t, 2, e.KeepAssistants)
	require.InDelta(t, 1, e.SoftRatio, 0)
	require.Negative(t, e.HardRatio)
	require.Negative(t, e.MinPrunable)
	require.Equal(t, prune.SoftTrim{Max: 10, Head: -1, Tail: 1_500}, e.SoftTrim)
	require.True(t, e.NoHardClear)
	require.Empty(t, e.Placeholder)
}

func TestParseCacheTTL(t *testing.T) {
	t.Parallel()
	_, on, err := prune.ParseCacheTTL(json.RawMessage(`{"mode":"off"}`))
	require.NoError(t, err)
	require.False(t, on)
	_, _, err = prune.ParseCacheTTL(json.RawMessage(`[]`))
	require.Error(t, err)
	for ttl, want := range map[string]time.Duration{
		"10": 10 * time.Minute, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "5us": 5 * time.Minute,
		"9999999d": 5 * time.Minute, "2000000d": 5 * time.Minute, "0": -1, "soon": 5 * time.Minute, "-3m": 5 * time.Minute, "": 5 * time.Minute,
	} {
		o, on, err := prune.ParseCacheTTL(json.RawMessage(`{"mode":"cache-ttl","ttl":"` + ttl + `"}`))
		require.NoError(t, err)
		require.True(t, on)
		require.Equal(t, want, o.Effective().TTL, ttl)
	}
	for _, absent := range []json.RawMessage{nil, {}, json.RawMessage("null")} {
		got, on, err := prune.ParseCacheTTL(absent)
		require.NoError(t, err)
		require.False(t, on)
		require.Zero(t, got)
	}
}

func TestParseCacheTTLNamesWhatHasTheWrongType(t *testing.T) {
	t.Parallel()
	for key, value := range map[string]string{"ttl": `10`, "keepLastAssistants": `"3"`, "softTrim": `[]`, "tools.allow": `1`, "hardClear.enabled": `"yes"`} {
		object := `"` + key + `":` + value
		if outer, inner, nested := strings.Cut(key, "."); nested {
			object = `"` + outer + `":{"` + inner + `":` + value + `}`
		}
		_, on, err := prune.ParseCacheTTL(json.RawMessage(`{"mode":"cache-ttl",` + object + `}`))
		require.ErrorContains(t, err, `"`+key+`"`)
		require.False(t, on)
	}
	_, on, err := prune.ParseCacheTTL(json.RawMessage(`{"mode":"cache-ttl","ttl":null,"keepLastAssistants":null}`))
	require.NoError(t, err)
	require.True(t, on)
}
