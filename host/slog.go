package host

import (
	"context"
	"log/slog"
	"time"
)

// SlogObserver returns an Observer that logs each event to l: failures and answers of
// legacy in the place of another engine as warnings, all else for debugging. It logs
// ids, codes, counts and durations, never the text of messages or errors.
func SlogObserver(l *slog.Logger) Observer { return slogObserver{l} }

type slogObserver struct{ logger *slog.Logger }

// Observe implements [Observer].
func (o slogObserver) Observe(ctx context.Context, e Event) {
	level := slog.LevelDebug
	if e.Outcome == OutcomeFailed || e.Outcome == OutcomeFallback {
		level = slog.LevelWarn
	}
	if !o.logger.Enabled(ctx, level) {
		return
	}
	o.logger.LogAttrs(ctx, level, "context engine", slog.Any("event", e))
}

// LogValue implements [slog.LogValuer]: everything but Err, without what is unknown.
func (e Event) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("op", e.Operation), slog.String("outcome", e.Outcome)}
	for _, a := range [...]struct{ name, value string }{{"engine", e.Engine}, {"session", e.SessionID}, {"reason", e.Reason}} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.name, a.value))
		}
	}
	if e.Duration > 0 {
		attrs = append(attrs, slog.Duration("dur", e.Duration.Round(time.Microsecond)))
	}
	for _, a := range [...]struct {
		name  string
		value int
	}{
		{"before", e.TokensBefore}, {"after", e.TokensAfter}, {"input", e.InputTokens}, {"output", e.OutputTokens},
	} {
		if a.value != 0 {
			attrs = append(attrs, slog.Int(a.name, a.value))
		}
	}
	return slog.GroupValue(attrs...)
}
