// Package prune holds request-time views: what is sent, never what is stored.
//
// A [Pass] takes the list that an engine assembled and returns the list that goes to the
// provider. Passes change nothing in place; the session log keeps every byte, so what a
// pass leaves out can be shown again. Texts that stand for something left out name the
// entry that holds all of it.
//
// # Order
//
// [Standard] gives the passes that every request needs in their fixed order: images that
// the model has seen are replaced, tool results are capped, then [Hygiene] makes the list
// valid for its provider. Two more are a matter of taste and go in front of it: a
// [HistoryLimit] and [CacheTTL] pruning.
//
//	passes := append([]prune.Pass{prune.HistoryLimit(30), prune.CacheTTL(nil)},
//		prune.Standard(prune.PolicyAnthropic)...)
//	ms = prune.Apply(ms, in, passes...)
//
// Package host applies what host.Options.Passes returns for a session, and without it the
// last two of the standard ones.
//
// # Stability
//
// Providers cache the beginning of a request. So the same list gives the same result, and
// a longer list gives a longer result with the same beginning, unless a pass had to leave
// something out: old results for the [CacheTTL] pass when the cache is cold anyway, the
// oldest ones when all together are too long, images of turns that are over, five messages
// at a time, their reasoning where the provider refuses it, or turns beyond a limit. What
// was left out stays so.
//
// # Sessions
//
// Passes remember what they worked out for earlier messages, so that a long session costs
// what is new in it. Make the passes once per session. They may be used by several
// goroutines, though the requests of a session follow each other. What must outlive the
// process is in those passes that are [Stateful].
package prune
