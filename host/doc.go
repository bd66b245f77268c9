// Package host drives the lifecycle: the rules that a host would otherwise have
// to know.
//
// A [Host] holds one engine, resolved from a registry, and a store of sessions.
// It takes a user's input through a whole turn:
//
//	out, err := h.Run(ctx, ref, message.User("hello"), nil)
//
// Hosts with a loop of their own take the same turn step by step:
//
//	t, err := h.Begin(ctx, ref, message.User("hello"), nil)
//	if err != nil {
//		return err
//	}
//	reply, err := ask(ctx, t.Request()) // and again after t.Recover(ctx, err)
//	if err == nil {
//		err = t.Append(ctx, reply)
//	}
//	out, endErr := t.End(ctx, err)
//
// [CallTool] runs the tools that a reply calls; its example has the whole loop.
//
// A session has one turn at a time. Whoever wants the next one waits for it, which a tool or
// an Observer within the turn must not do: it would wait until its context ends.
//
// # What a turn does
//
//   - The session's open turn is waited for. The engine is resolved where that is
//     due, and its demands on the host are checked before anything happens.
//   - The engine bootstraps the session, once, and may maintain it. So it does with a
//     session that a compaction moved to, which the turn then goes on in.
//   - The input is stored, and the engine assembles what to send: its list, then
//     the input, then what the turn adds.
//   - Request-time passes, the host's own context and the pairing of calls and
//     results make a list that a provider accepts.
//   - At the end the turn is delivered to the engine, once, and the engine may
//     maintain the transcript.
//
// # When a request is too large
//
// A request is judged before it is sent, and the engine compacts where it does not fit.
// The estimate never has the last word: what cannot be made smaller is sent. When the
// provider refuses it, or its reply tells that it was cut, [Turn.Recover] climbs a ladder,
// and says that the request can be sent again or, in an [OverflowError], what it tried.
// How far estimates are off is learnt from what the provider counts.
//
// # What a host sees of it
//
// [Host.Status] tells how a session stands, [Outcome] what happened in a turn, and an
// [Observer] hears of every hook, every request to the model, and the background.
// [SlogObserver] logs them; the module otel makes spans and metrics of them.
//
// # What it leaves to its user
//
// It sends a request again only when that was too large or timed out and is smaller now:
// waiting for a rate limit to pass is the Model's affair. It lends engines no memory
// section. It spawns no subagents: their hooks are those of a ce.Handle, which is resolved
// from the same registry with the same selection.
//
// # What a failing engine does
//
// Nothing to the turn, under [ce.Fallback]: the transcript answers. Under
// [ce.Strict] the turn fails with a typed error.
//
// [ce.Fallback]: https://pkg.go.dev/github.com/go-contextengine/contextengine#Fallback
// [ce.Strict]: https://pkg.go.dev/github.com/go-contextengine/contextengine#Strict
package host
