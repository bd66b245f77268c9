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
//	reply, err := ask(ctx, t.Request())
//	if err == nil {
//		err = t.Append(ctx, reply)
//	}
//	out, endErr := t.End(ctx, err)
//
// # What a turn does
//
//   - The session's open turn is waited for. The engine is resolved where that is
//     due, and its demands on the host are checked before anything happens.
//   - The engine bootstraps the session, once, and may maintain it.
//   - The input is stored, and the engine assembles what to send: its list, then
//     the input, then what the turn adds.
//   - Request-time passes, the host's own context and the pairing of calls and
//     results make a list that a provider accepts.
//   - At the end the turn is delivered to the engine, once, and the engine may
//     maintain the transcript.
//
// # What a failing engine does
//
// Nothing to the turn, under [ce.Fallback]: the transcript answers. Under
// [ce.Strict] the turn fails with a typed error.
//
// [ce.Fallback]: https://pkg.go.dev/github.com/go-contextengine/contextengine#Fallback
// [ce.Strict]: https://pkg.go.dev/github.com/go-contextengine/contextengine#Strict
package host
