package prune_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
)

// The passes of a session make what an engine assembled smaller and valid for its provider.
func Example() {
	passes := append([]prune.Pass{prune.HistoryLimit(30), prune.CacheTTL(nil)},
		prune.Standard(prune.PolicyAnthropic)...)

	ms := []message.Message{
		message.User("What is in the log?"),
		message.Assistant(message.ToolCall("toolu_1", "read", nil)),
		message.ToolResult("toolu_1", "read", message.Text(strings.Repeat("all is well\n", 10_000))),
		message.User("  "),
		message.Assistant(message.Text("NO_REPLY")),
		message.User("Anything unusual?"),
	}
	ms[2].Key = "3f9a1c02" // the id of its entry in the session log

	in := prune.Input{Provider: "anthropic", Window: 200_000, Estimator: tokens.ScriptAware()}
	out := prune.Apply(ms, in, passes...)
	for _, m := range out {
		fmt.Println(m.Role, len(m.Text()))
	}
	text := out[2].Text()
	fmt.Println(text[strings.LastIndex(text, "["):])
	// Output:
	// user 19
	// assistant 0
	// toolResult 63997
	// user 17
	// [... 56077 characters of the output left out; all of it is entry 3f9a1c02]
}

// A cold cache is the moment to shorten old results: the provider reads everything anew in
// any case. What was shortened stays so.
func ExampleCacheTTL() {
	ms := []message.Message{message.User("Compare the files.")}
	for _, id := range []string{"c1", "c2", "c3", "c4", "c5"} {
		ms = append(ms, message.Assistant(message.ToolCall(id, "read", nil)),
			message.ToolResult(id, "read", message.Text(strings.Repeat("x", 6_000))))
	}
	ms = append(ms, message.User("Go on."))

	pass := prune.CacheTTL(&prune.CacheTTLOptions{TTL: 5 * time.Minute})
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	in := prune.Input{Window: 16_000, Now: now}
	size := func(ms []message.Message) (n int) {
		for _, m := range ms {
			n += len(m.Text())
		}
		return n
	}

	fmt.Println("first request:", size(pass.Apply(ms, in)))
	pass.Observe(message.Usage{}, now) // it succeeded
	in.Now = now.Add(time.Minute)
	fmt.Println("a minute later:", size(pass.Apply(ms, in)))
	in.Now = now.Add(10 * time.Minute)
	fmt.Println("ten minutes later:", size(pass.Apply(ms, in)))
	pass.Observe(message.Usage{}, in.Now)
	fmt.Println("right after:", size(pass.Apply(ms, in)))
	// Output:
	// first request: 30024
	// a minute later: 30024
	// ten minutes later: 24196
	// right after: 24196
}

// A driver whose request is too long asks what cutting tool results would free, before it
// pays for a compaction.
func ExampleReducible() {
	ms := []message.Message{
		message.Assistant(message.ToolCall("c1", "exec", nil)),
		message.ToolResult("c1", "exec", message.Text(strings.Repeat("x", 320_000))),
	}
	fmt.Println(prune.Reducible(ms, prune.Input{Window: 200_000}))
	// Output: 256000
}

func ExampleTruncate() {
	log := strings.Repeat("compiling\n", 2_000) + "error: unknown symbol"
	out := prune.Truncate(log, 5_000, "3f9a1c02")
	fmt.Println(len(out) <= 5_000, strings.Contains(out, "error: unknown symbol"))
	// Output: true true
}

func ExampleHistoryLimits_For() {
	thirty, five := 30, 5
	limits := prune.HistoryLimits{"telegram": {
		Turns:  &thirty,
		Direct: map[string]prune.UserLimits{"42": {Turns: &five}},
	}}
	fmt.Println(limits.For("agent:main:telegram:direct:42"))
	fmt.Println(limits.For("telegram:group:7"))
	fmt.Println(limits.For("telegram:dm:43"))
	// Output:
	// 5 true
	// 30 true
	// 0 false
}

// A host that wants a small log caps results when it stores them.
func ExampleCapStored() {
	result := message.ToolResult("c1", "exec", message.Text(strings.Repeat("x", 50_000)))
	stored := prune.CapStored(result, 8_000, nil)
	fmt.Println(len(stored.Text()))
	fmt.Println(stored.Text()[strings.Index(stored.Text(), "["):])
	// Output:
	// 9600
	// [... 40473 characters of the output left out; a narrower call shows them]
}

func ExampleHygiene() {
	ms := []message.Message{
		message.Assistant(message.Text("Good morning.")),
		message.User("Read a.txt"),
		message.Assistant(message.ToolCall("call|1", "read", nil)),
		message.User("Are you there?"),
	}
	for _, m := range prune.Apply(ms, prune.Input{}, prune.Hygiene(prune.PolicyGemini)...) {
		fmt.Printf("%s %q %q\n", m.Role, m.ToolCallID, m.Text())
	}
	// Output:
	// user "" "[the session begins]"
	// assistant "" "Good morning."
	// user "" "Read a.txt"
	// assistant "" ""
	// toolResult "call1" "No result was recorded for this tool call; whether it ran is not known."
	// user "" "Are you there?"
}
