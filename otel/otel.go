// Package otel tells OpenTelemetry what a host does: a span for each hook of an engine
// and each request to a model, and metrics of their durations and tokens.
//
//	observer, err := otel.NewObserver(nil)
//	if err != nil {
//		return err
//	}
//	h, err := host.New(store, &host.Options{Model: model, Observer: observer})
//
// Spans belong to the span of the context that the host was called with. Nothing of it
// is text of messages or of errors, which may quote them: ids, codes, counts and
// durations are.
package otel

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/go-contextengine/contextengine/host"
)

// Scope is the name of the instrumentation scope.
const Scope = "github.com/go-contextengine/contextengine/otel"

// Names of attributes.
const (
	AttrOperation    = "contextengine.operation"
	AttrEngine       = "contextengine.engine"
	AttrOutcome      = "contextengine.outcome"
	AttrReason       = "contextengine.reason"
	AttrSession      = "contextengine.session.id"
	AttrTokensBefore = "contextengine.tokens.before"
	AttrTokensAfter  = "contextengine.tokens.after"
	AttrInputTokens  = "gen_ai.usage.input_tokens"
	AttrOutputTokens = "gen_ai.usage.output_tokens"
)

// Names of metrics.
const (
	// MetricDuration is a histogram of seconds, by operation, engine and outcome.
	MetricDuration = "contextengine.operation.duration"
	// MetricTokens counts the tokens of model calls, by operation and type (input, output).
	MetricTokens = "contextengine.model.tokens"
	// MetricFreed counts the tokens that compactions freed, by engine.
	MetricFreed = "contextengine.compaction.freed"
)

// spanPrefix stands before the operation in the name of a span.
const spanPrefix = "contextengine."

// attrTokenType is input or output.
const attrTokenType = "gen_ai.token.type"

// Options configure an [Observer]. Nil is all defaults.
type Options struct {
	// TracerProvider and MeterProvider get spans and metrics. Optional. If nil, the
	// global ones of OpenTelemetry.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	// Now is the clock, from which a span's start is reckoned back. Optional. If nil,
	// time.Now.
	Now func() time.Time
}

// An Observer is a [host.Observer] for OpenTelemetry. Make it with [NewObserver]. Safe
// for concurrent use.
type Observer struct {
	tracer   trace.Tracer
	duration metric.Float64Histogram
	tokens   metric.Int64Counter
	freed    metric.Int64Counter
	now      func() time.Time
}

var _ host.Observer = (*Observer)(nil)

// NewObserver returns an Observer. The error is that of a provider that refuses an
// instrument.
func NewObserver(opts *Options) (*Observer, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	out := &Observer{tracer: o.TracerProvider.Tracer(Scope), now: o.Now}
	meter := o.MeterProvider.Meter(Scope)
	var err error
	if out.duration, err = meter.Float64Histogram(MetricDuration, metric.WithUnit("s"),
		metric.WithDescription("How long hooks of engines and model calls took.")); err != nil {
		return nil, fmt.Errorf("making the metric %q: %w", MetricDuration, err)
	}
	if out.tokens, err = meter.Int64Counter(MetricTokens, metric.WithUnit("{token}"),
		metric.WithDescription("Tokens of model calls.")); err != nil {
		return nil, fmt.Errorf("making the metric %q: %w", MetricTokens, err)
	}
	if out.freed, err = meter.Int64Counter(MetricFreed, metric.WithUnit("{token}"),
		metric.WithDescription("Tokens that compactions freed.")); err != nil {
		return nil, fmt.Errorf("making the metric %q: %w", MetricFreed, err)
	}
	return out, nil
}

// Observe implements [host.Observer].
func (o *Observer) Observe(ctx context.Context, e host.Event) {
	attrs := attributes(e)
	if isMoment(e) {
		trace.SpanFromContext(ctx).AddEvent(spanPrefix+e.Operation, trace.WithAttributes(attrs...))
		return
	}
	end := o.now()
	_, span := o.tracer.Start(ctx, spanPrefix+e.Operation,
		trace.WithTimestamp(end.Add(-e.Duration)), trace.WithAttributes(attrs...), trace.WithSpanKind(kindOf(e)))
	if e.Outcome == host.OutcomeFailed {
		span.SetStatus(codes.Error, e.Reason)
	}
	span.End(trace.WithTimestamp(end))
	o.measure(ctx, e)
}

// measure records the metrics of an event.
func (o *Observer) measure(ctx context.Context, e host.Event) {
	operation, engine := attribute.String(AttrOperation, e.Operation), attribute.String(AttrEngine, e.Engine)
	o.duration.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(operation, engine, attribute.String(AttrOutcome, e.Outcome)))
	if e.InputTokens > 0 {
		o.tokens.Add(ctx, int64(e.InputTokens), metric.WithAttributes(operation, attribute.String(attrTokenType, "input")))
	}
	if e.OutputTokens > 0 {
		o.tokens.Add(ctx, int64(e.OutputTokens), metric.WithAttributes(operation, attribute.String(attrTokenType, "output")))
	}
	if freed := e.TokensBefore - e.TokensAfter; e.Operation == host.OpCompact && e.Outcome == host.OutcomeOK && freed > 0 {
		o.freed.Add(ctx, int64(freed), metric.WithAttributes(engine))
	}
}

// isMoment reports whether an event has no duration of its own.
func isMoment(e host.Event) bool {
	switch e.Operation {
	case host.OpBeforeCompaction, host.OpAfterCompaction, host.OpPrecheck, host.OpPreflight, host.OpDropOldest, host.OpState:
		return true
	case host.OpBackground:
		return e.Outcome == host.OutcomeScheduled || e.Outcome == host.OutcomeRunning
	}
	return false
}

func kindOf(e host.Event) trace.SpanKind {
	if e.Operation == host.OpModel || e.Operation == host.OpComplete {
		return trace.SpanKindClient
	}
	return trace.SpanKindInternal
}

// attributes are what an event knows.
func attributes(e host.Event) []attribute.KeyValue {
	out := []attribute.KeyValue{attribute.String(AttrOperation, e.Operation), attribute.String(AttrOutcome, e.Outcome)}
	for _, a := range [...]struct{ key, value string }{{AttrEngine, e.Engine}, {AttrSession, e.SessionID}, {AttrReason, e.Reason}} {
		if a.value != "" {
			out = append(out, attribute.String(a.key, a.value))
		}
	}
	for _, a := range [...]struct {
		key   string
		value int
	}{
		{AttrTokensBefore, e.TokensBefore},
		{AttrTokensAfter, e.TokensAfter},
		{AttrInputTokens, e.InputTokens},
		{AttrOutputTokens, e.OutputTokens},
	} {
		if a.value != 0 {
			out = append(out, attribute.Int(a.key, a.value))
		}
	}
	return out
}
