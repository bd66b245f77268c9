package host

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/internal/lane"
	"github.com/go-contextengine/contextengine/internal/turn"
	"github.com/go-contextengine/contextengine/transcript"
)

// A sharedLog is closed with its last user.
type sharedLog struct {
	transcript.Log
	users atomic.Int32
}

func share(log transcript.Log) *sharedLog {
	l := &sharedLog{Log: log}
	l.users.Store(1)
	return l
}

// also adds a user.
func (l *sharedLog) also() *sharedLog {
	l.users.Add(1)
	return l
}

// Close implements [transcript.Log].
func (l *sharedLog) Close() error {
	if l.users.Add(-1) > 0 {
		return nil
	}
	return l.Log.Close()
}

// laneKey is under what name work for a session waits.
func laneKey(ref ce.SessionRef) string {
	if ref.SessionKey != "" {
		return keyName(ref.SessionKey)
	}
	return idName(ref.SessionID)
}

// awaitBackground waits for work that was put off for a session, whatever the name
// it was scheduled under.
func (h *Host) awaitBackground(ctx context.Context, ref ce.SessionRef) error {
	names := []string{laneKey(ref)}
	if s := h.open.peek(ref.SessionID); s != nil {
		s.mu.Lock()
		names = append(names, s.lane)
		s.mu.Unlock()
	}
	for _, name := range names {
		if err := h.lane.Wait(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// background schedules what an engine puts off. The work keeps engine and log
// open, and the session's next turn waits for it.
type background struct{ v *visit }

var _ turn.Scheduler = background{}

// Schedule implements [turn.Scheduler].
func (b background) Schedule(ref ce.SessionRef, work func(ctx context.Context) error) bool {
	h, e, log, w := b.v.h, b.v.engine, b.v.log.also(), b.v.notifier()
	h.engines.share(e)
	name := laneKey(ref)
	b.v.session.mu.Lock()
	b.v.session.lane = name
	b.v.session.mu.Unlock()
	ctx := context.WithoutCancel(h.life)
	start := time.Now()
	w.observe(ctx, Event{Operation: OpBackground, Outcome: OutcomeScheduled}, nil)
	ctx = context.WithValue(ctx, backgroundKey{}, true)
	taken := h.lane.Submit(name, lane.Work{
		Run: func(ctx context.Context) error {
			slow := time.AfterFunc(longWork, func() {
				w.observe(ctx, Event{Operation: OpBackground, Outcome: OutcomeRunning, Duration: time.Since(start)}, nil)
			})
			defer slow.Stop()
			return work(context.WithValue(ctx, backgroundKey{}, true))
		},
		Done: func(err error, ran bool) {
			w.ended(ctx, start, err, ran)
			h.finishWork(ctx, e, log)
		},
	})
	if !taken {
		w.ended(ctx, start, nil, false)
		h.finishWork(ctx, e, log)
	}
	return taken
}

// backgroundKey is the context's key for work that no turn waits for. What happens there is
// in no outcome: it may be over before the turn is, or long after it.
type backgroundKey struct{}

func inBackground(ctx context.Context) bool { return ctx.Value(backgroundKey{}) != nil }

// longWork is after what time work in the background is told of again (OpenClaw
// 2026.7.1).
const longWork = 10 * time.Second

// ended tells how work in the background went.
func (w notifier) ended(ctx context.Context, start time.Time, err error, ran bool) {
	e := Event{Operation: OpBackground, Duration: time.Since(start)}
	if !ran {
		e.Outcome = OutcomeSkipped
	}
	w.observe(ctx, e, err)
	if err != nil {
		w.h.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "background maintenance failed",
			slog.String("session", w.session), slog.Any("error", err))
	}
}

func (h *Host) finishWork(ctx context.Context, e *engine, log *sharedLog) {
	if err := log.Close(); err != nil {
		h.opts.Logger.LogAttrs(ctx, slog.LevelWarn, "closing a session's log failed", slog.Any("error", err))
	}
	h.release(ctx, e)
}
