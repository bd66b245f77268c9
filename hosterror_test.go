package contextengine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/transcript"
)

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
