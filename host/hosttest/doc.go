// Package hosttest has what tests of a host need: models and engines that do what they
// are told and record what they were asked, and the lifecycle scripts.
//
// # Models
//
// A [Model] answers from a script. A [Strict] one refuses what providers refuse.
//
//	m := hosttest.NewModel(
//		hosttest.Calls(message.ToolCall("c1", "read", nil)),
//		hosttest.Reply("done"),
//	)
//	h, err := host.New(transcript.NewMemory(), &host.Options{Model: m})
//
// # Engines
//
// An [Engine] records the calls of its hooks on a [Tape] and fails where it is told to.
//
// # Lifecycle scripts
//
// Each script shows one rule of driving a turn: what a user does, and the calls that
// engines get in between. Who writes a driver of their own, for a harness that package
// host does not fit, plays them against it:
//
//	func TestDriver(t *testing.T) {
//		hosttest.RunLifecycle(t, newMyDriver)
//	}
package hosttest
