package main

import "context"

// laterOps are the operations whose counterpart this runner does not drive yet; a scenario
// that uses one is skipped with the reason.
func laterOps() map[string]opFunc {
	reasons := map[string]string{
		"slotSelect": "configuration edits", "uninstall": "configuration edits",
	}
	out := map[string]opFunc{}
	for op, what := range reasons {
		out[op] = func(_ context.Context, w *world, _ step) (any, error) {
			return nil, w.skip("not driven by this runner: " + what)
		}
	}
	return out
}
