package otel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/otel"
	"github.com/go-contextengine/contextengine/transcript"
)

const secret = "the secret words of the user"

// setUp returns an observer, and where its spans and metrics go.
func setUp(t *testing.T) (*otel.Observer, *tracetest.SpanRecorder, *sdktrace.TracerProvider, *sdkmetric.ManualReader) {
	t.Helper()
	spans, metrics := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	o, err := otel.NewObserver(&otel.Options{
		TracerProvider: tracers, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(metrics)),
	})
	require.NoError(t, err)
	return o, spans, tracers, metrics
}

func attrsOf(s sdktrace.ReadOnlySpan) map[string]string {
	out := map[string]string{}
	for _, a := range s.Attributes() {
		out[string(a.Key)] = a.Value.String()
	}
	return out
}

// A turn is spans below that of the caller, and no text of messages is in them.
func TestTurnIsSpans(t *testing.T) {
	t.Parallel()
	o, spans, tracers, metrics := setUp(t)
	engine := hosttest.NewEngine("demo", ce.HookAfterTurn|ce.HookBootstrap, &hosttest.Tape{})
	var reg ce.Registry
	require.NoError(t, reg.Register("demo", "plugin:demo", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return engine, nil }))
	h, err := host.New(transcript.NewMemory(), &host.Options{
		Registry: &reg, Selection: ce.Selection{Engine: "demo"}, Observer: o,
		Model: &hosttest.Strict{Model: hosttest.NewModel(
			hosttest.Reply(secret), hosttest.Fail(errors.New("refused: "+secret)),
		)},
	})
	require.NoError(t, err)
	ctx, parent := tracers.Tracer("test").Start(t.Context(), "parent")
	_, err = h.Run(ctx, ce.SessionRef{SessionID: "s"}, message.User(secret), nil)
	require.NoError(t, err)
	_, err = h.Run(ctx, ce.SessionRef{SessionID: "s"}, message.User(secret), nil)
	require.Error(t, err)
	require.NoError(t, h.Close(t.Context()))
	parent.End()

	var names []string
	for _, s := range spans.Ended() {
		names = append(names, s.Name())
		require.NotContains(t, fmt.Sprint(s.Attributes(), s.Status(), s.Events()), "secret")
		if s.Name() != "parent" && s.Name() != "contextengine.close" {
			require.Equal(t, parent.SpanContext().SpanID(), s.Parent().SpanID())
		}
	}
	require.Equal(t, strings.Fields(
		"contextengine.bootstrap contextengine.assemble contextengine.model contextengine.commitTurn "+
			"contextengine.assemble contextengine.model contextengine.close parent",
	), names)
	model := attrsOf(spans.Ended()[2])
	require.Equal(t, "demo", model[otel.AttrEngine])
	require.Equal(t, "s", model[otel.AttrSession])
	require.NotEmpty(t, model[otel.AttrInputTokens])
	failed := spans.Ended()[5]
	require.Equal(t, codes.Error, failed.Status().Code)
	require.Equal(t, "error", failed.Status().Description)

	var all metricdata.ResourceMetrics
	require.NoError(t, metrics.Collect(t.Context(), &all))
	found := map[string]bool{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			found[m.Name] = true
		}
	}
	require.True(t, found[otel.MetricDuration])
	require.True(t, found[otel.MetricTokens])
}

// What has no duration is an event of the caller's span; a compaction counts what it freed.
func TestMomentsAndCompactions(t *testing.T) {
	t.Parallel()
	o, spans, tracers, metrics := setUp(t)
	ctx, parent := tracers.Tracer("test").Start(t.Context(), "parent")
	o.Observe(ctx, host.Event{Operation: host.OpPrecheck, Outcome: host.OutcomeOK, Reason: "fits", TokensBefore: 10})
	o.Observe(ctx, host.Event{Operation: host.OpBackground, Outcome: host.OutcomeRunning})
	o.Observe(ctx, host.Event{
		Operation: host.OpCompact, Outcome: host.OutcomeOK, TokensBefore: 100, TokensAfter: 40, Duration: time.Second,
	})
	parent.End()
	ended := spans.Ended()
	require.Len(t, ended, 2)
	require.Equal(t, time.Second, ended[0].EndTime().Sub(ended[0].StartTime()))
	require.Len(t, ended[1].Events(), 2)
	require.Equal(t, "contextengine.precheck", ended[1].Events()[0].Name)

	var all metricdata.ResourceMetrics
	require.NoError(t, metrics.Collect(t.Context(), &all))
	for _, m := range all.ScopeMetrics[0].Metrics {
		if m.Name == otel.MetricFreed {
			sum, ok := m.Data.(metricdata.Sum[int64])
			require.True(t, ok)
			require.EqualValues(t, 60, sum.DataPoints[0].Value)
			return
		}
	}
	t.Fatal("nothing was freed")
}
