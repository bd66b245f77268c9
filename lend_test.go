package contextengine_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/transcript"
)

func TestLendReader(t *testing.T) {
	require.Nil(t, ce.LendReader(nil))
	rows := []transcript.Entry{{ID: "a"}, {ID: "b"}}
	for _, src := range []reader{{rows: rows, err: errBoom}, {rows: rows, panics: true}} {
		lent := ce.LendReader(ce.LendReader(src))
		require.Equal(t, "s", lent.Header().ID)
		_, err := lent.View(t.Context())
		var he *ce.HostError
		require.ErrorAs(t, err, &he)
		require.ErrorIs(t, err, errBoom)
		for _, seq := range []iter.Seq2[transcript.Entry, error]{lent.Branch(t.Context()), lent.Entries(t.Context())} {
			var ids []string
			var last error
			for e, err := range seq {
				if last = err; err == nil {
					ids = append(ids, e.ID)
				}
			}
			require.Equal(t, []string{"a", "b"}, ids)
			require.ErrorAs(t, last, &he)
			for range seq {
				break
			}
		}
	}
	require.PanicsWithError(t, "boom", func() {
		for range ce.LendReader(reader{rows: rows}).Branch(t.Context()) {
			panic(errBoom)
		}
	}, "a panic of the loop body is the engine's")
	_, isLog := ce.LendReader(struct{ transcript.Log }{}).(transcript.Log)
	require.False(t, isLog, "what is lent cannot be written")
}

func TestHostErrorBlamesNobody(t *testing.T) {
	lent := ce.LendRuntime(ce.RuntimeContext{Compactor: brokenHost{}, Rewriter: brokenHost{}, Completer: brokenHost{}, Memory: brokenHost{}})
	uses := map[string]func(context.Context) error{
		"compactor": func(ctx context.Context) error {
			_, err := lent.Compactor.CompactSession(ctx, ce.CompactParams{})
			return err
		},
		"rewriter": func(ctx context.Context) error {
			_, err := lent.Rewriter.Rewrite(ctx, transcript.RewriteRequest{})
			return err
		},
		"completer": func(ctx context.Context) error {
			_, err := lent.Completer.Complete(ctx, ce.CompletionRequest{})
			return err
		},
		"memory": func(context.Context) error {
			_, err := ce.BuildMemorySystemPromptAddition(lent, nil, "")
			return err
		},
	}
	for name, use := range uses {
		for _, op := range guardedOps() {
			t.Run(name+"/"+op, func(t *testing.T) {
				r, f := newRegistry(), newFake(allHooks)
				f.on = func(ctx context.Context, got string, _ any) error {
					if got != op {
						return nil
					}
					return fmt.Errorf("engine: %w", use(ctx))
				}
				h := resolve(t, r, f, ce.Selection{})
				_, err := callHook(t.Context(), h, op)
				if op == "compact" || op == "prepareSubagentSpawn" {
					require.ErrorIs(t, err, errBoom)
				} else {
					require.NoError(t, err)
				}
				require.Empty(t, r.Quarantines())

				strict, err := r.Resolve(t.Context(), ce.Selection{Engine: "x", Policy: ce.Strict})
				require.NoError(t, err)
				_, err = callHook(t.Context(), strict, op)
				var he *ce.HostError
				require.ErrorAs(t, err, &he)
				require.ErrorIs(t, err, errBoom)
				require.Empty(t, r.Quarantines())
			})
		}
	}
}

// brokenHost fails at everything that a host can lend; the memory section panics.
type brokenHost struct{}

// reader is a transcript that fails on request.
type reader struct {
	rows   []transcript.Entry
	err    error
	panics bool
}

func (reader) Header() transcript.Header { return transcript.Header{ID: "s"} }

func (reader) Problems() []transcript.Problem { return nil }

func (r reader) Branch(context.Context) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		for _, e := range r.rows {
			if !yield(e, nil) {
				return
			}
		}
		if r.panics {
			panic(errBoom)
		}
		if r.err != nil {
			yield(transcript.Entry{}, r.err)
		}
	}
}

func (r reader) Entries(ctx context.Context) iter.Seq2[transcript.Entry, error] { return r.Branch(ctx) }

func (r reader) View(context.Context) (transcript.View, error) {
	if r.panics {
		panic(errBoom)
	}
	return transcript.View{}, r.err
}
