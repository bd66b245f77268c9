package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// A rogue is an engine that fails at random and remembers what it was given.
type rogue struct {
	probe

	seen      sync.Mutex
	random    *rand.Rand
	delivered map[string]int // by message key
	running   map[string]int // calls by session
	overlap   bool
}

func newRogue(id string, seed uint64) *rogue {
	r := &rogue{
		probe:     *newProbe(id, everyHook, &tape{}),
		random:    rand.New(rand.NewPCG(seed, seed)),
		delivered: map[string]int{}, running: map[string]int{},
	}
	r.About.OwnsCompaction = seed%2 == 0
	if seed%3 == 0 {
		r.About.TurnMaintenance = ce.MaintenanceBackground
	}
	return r
}

// misbehave sometimes does what an engine must not.
func (r *rogue) misbehave(ctx context.Context, session string) error {
	r.seen.Lock()
	r.running[session]++
	r.overlap = r.overlap || r.running[session] > 1
	dice := r.random.IntN(400)
	r.seen.Unlock()
	defer func() {
		r.seen.Lock()
		r.running[session]--
		r.seen.Unlock()
	}()
	switch dice {
	case 0:
		return hosttest.ErrFault
	case 1:
		panic("rogue")
	case 2:
		<-ctx.Done()
		return context.Cause(ctx)
	case 3:
		<-time.After(time.Second)
	}
	return nil
}

func (r *rogue) Bootstrap(ctx context.Context, q ce.BootstrapParams) (ce.BootstrapResult, error) {
	return ce.BootstrapResult{Bootstrapped: true}, r.misbehave(ctx, q.SessionID)
}

func (r *rogue) Maintain(ctx context.Context, q ce.MaintainParams) (transcript.RewriteResult, error) {
	return transcript.RewriteResult{}, r.misbehave(ctx, q.SessionID)
}

func (r *rogue) Tools(ctx context.Context, q ce.ToolsParams) ([]ce.Tool, error) {
	return nil, r.misbehave(ctx, q.SessionID)
}

func (r *rogue) Close() error { return nil }

func (r *rogue) Assemble(ctx context.Context, q ce.AssembleParams) (ce.AssembleResult, error) {
	if err := r.misbehave(ctx, q.SessionID); err != nil {
		return ce.AssembleResult{}, err
	}
	r.seen.Lock()
	dice := r.random.IntN(200)
	r.seen.Unlock()
	switch {
	case dice == 0:
		return ce.AssembleResult{}, nil
	case dice < 20 && len(q.Messages) > 0: // any cut, in the middle of pairs too
		return ce.AssembleResult{Messages: q.Messages[dice%len(q.Messages):]}, nil
	}
	return ce.AssembleResult{Messages: q.Messages}, nil
}

func (r *rogue) Compact(ctx context.Context, q ce.CompactParams) (ce.CompactResult, error) {
	if err := r.misbehave(ctx, q.SessionID); err != nil {
		return ce.CompactResult{}, err
	}
	return ce.DelegateCompaction(ctx, q)
}

func (r *rogue) AfterTurn(ctx context.Context, q ce.AfterTurnParams) error {
	r.seen.Lock()
	for _, m := range q.New() {
		r.delivered[q.SessionID+" "+m.Key]++
	}
	r.seen.Unlock()
	return r.misbehave(ctx, q.SessionID)
}

// answering is a model that calls a tool now and then and checks what it is sent.
func answering(bad *sync.Map) hosttest.Step {
	return func(_ context.Context, r host.Request) (message.Message, error) {
		if _, repair := message.RepairPairs(r.Messages, nil); repair != (message.Repair{}) || len(r.Messages) == 0 {
			bad.Store(saidAll(r.Messages), repair)
		}
		last := r.Messages[len(r.Messages)-1]
		if last.Role == message.RoleUser && len(last.Text())%3 == 0 {
			return message.Assistant(message.ToolCall("c", "read", json.RawMessage(`{}`))), nil
		}
		return message.Assistant(message.Text("ok")), nil
	}
}

// Engines fail at random in every hook; they are registered anew and switched while
// turns run. Every turn answers, no message is delivered twice to an engine, no hook
// of a session runs beside another one, every request is one that a provider takes,
// and nothing is left running.
func TestSoakRandomFaults(t *testing.T) {
	t.Parallel()
	sessions, turns := 64, 50
	if testing.Short() {
		sessions, turns = 16, 12
	}
	synctest.Test(t, func(t *testing.T) {
		reg := &ce.Registry{}
		rogues := []*rogue{newRogue("r1", 1), newRogue("r2", 2), newRogue("r3", 3), newRogue("r6", 6)}
		register := func(r *rogue) {
			err := reg.Register(r.About.ID, "o", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return r, nil })
			require.NoError(t, err)
		}
		for _, r := range rogues {
			register(r)
		}
		var bad sync.Map
		store := transcript.NewMemory()
		h, err := host.New(store, &host.Options{
			Registry: reg, Selection: ce.Selection{Engine: "r1"}, Model: hosttest.Always(answering(&bad)),
			Tools: []ce.Tool{readTool("data")}, Estimator: byteCount{},
			Compactor: &hosttest.Compactor{Store: store, Tape: &tape{}, Keep: 3},
			Models: func(context.Context, string) (host.ModelInfo, error) {
				return host.ModelInfo{ID: "m", Budget: tokens.Budget{Window: 4_000, Reserve: 3_700, MinPrompt: 1}}, nil
			},
		})
		require.NoError(t, err)
		var wg sync.WaitGroup
		errs := make(chan error, sessions*turns)
		for s := range sessions {
			wg.Go(func() {
				for n := range turns {
					out, err := h.Run(t.Context(), ref(fmt.Sprint(s)), message.User(fmt.Sprintf("%d of %d", n, s)), nil)
					if err != nil || out.Reply.Text() != "ok" {
						errs <- fmt.Errorf("session %d turn %d: %q: %w", s, n, out.Reply.Text(), err)
					}
					if s == 0 { // heal and switch while others run
						r := rogues[n%len(rogues)]
						register(r)
						h.Select(ce.Selection{Engine: r.About.ID})
					}
					<-time.After(time.Duration(s%7) * time.Millisecond)
				}
			})
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			require.NoError(t, err)
		}
		bad.Range(func(k, v any) bool {
			t.Errorf("bad request %v: %v", k, v)
			return true
		})
		_ = h.Close(t.Context()) // may report calls that never came back
		for _, r := range rogues {
			require.False(t, r.overlap, "%s: hooks of one session overlapped", r.About.ID)
			for key, n := range r.delivered {
				require.LessOrEqual(t, n, 1, "%s: %s delivered %d times", r.About.ID, key, n)
			}
		}
	})
}
