package prune_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
)

// TestAppendingToAResultIsSafe: neither the log nor what a pass remembers changes.
func TestAppendingToAResultIsSafe(t *testing.T) {
	t.Parallel()
	failed := stopped(message.StopError, message.Text(prune.FailedText))
	array := []message.Message{message.User("hi"), message.Assistant(message.Text("yes")), message.User("go"), failed, message.User("later")}
	for _, log := range [][]message.Message{array[:4], array[:3]} {
		for name, make := range passes() {
			before, pass := message.Clone(array), make()
			out := pass.Apply(log, prune.Input{})
			_ = append(out, message.User("next"))
			require.True(t, equalLists(before, array), name)
			out = pass.Apply(append(log[:3:3], failed, message.User("other")), prune.Input{})
			require.NotContains(t, join(out), "next", name)
		}
	}
	out := prune.CleanReplay(array[:4])
	require.Len(t, out, 3)
	_ = append(out, message.User("next"))
	require.Equal(t, message.RoleAssistant, array[3].Role)
}

// TestStandardKeepsThePrefixWithImages: with one image in each turn, most requests begin
// like the one before.
func TestStandardKeepsThePrefixWithImages(t *testing.T) {
	t.Parallel()
	passes := prune.Standard(prune.PolicyAnthropic)
	var log, sent []message.Message
	breaks := 0
	for i := range 24 {
		user := message.User(fmt.Sprintf("see %d", i))
		user.Content = append(user.Content, message.Image("iVBORw0KGgoAAAA", "image/png"))
		log = append(log, user)
		out := prune.Apply(log, prune.Input{Provider: "anthropic", Window: 200_000}, passes...)
		if !equalLists(sent, out[:len(sent)]) {
			breaks++
		}
		sent = message.Clone(out)
		log = append(log, stopped(message.StopEnd, message.Text("ok")))
	}
	require.Equal(t, 4, breaks, "20 of the images went, five at a time")
}

// TestRestartsChangeNothing: a process that restarts before each turn sends what one that
// runs on sends, whether requests succeed and the cache goes cold or not.
func TestRestartsChangeNothing(t *testing.T) {
	t.Parallel()
	fresh := func() []prune.Pass {
		return append([]prune.Pass{prune.CacheTTL(nil)}, prune.Standard(prune.PolicyAnthropic)...)
	}
	stateful := func(passes []prune.Pass) (out []prune.Stateful) {
		for _, p := range passes {
			if s, ok := p.(prune.Stateful); ok {
				out = append(out, s)
			}
		}
		return out
	}
	runs, restarts := fresh(), fresh()
	now := time.UnixMilli(1_000_000_000)
	big := strings.Repeat("line of output\n", 900)
	var log []message.Message
	for i := range 40 {
		id := fmt.Sprintf("c%d", i%7)
		log = append(log, message.User("go"), calling(id), answering(id, big), message.Assistant(message.Text("ok")))
		for j := range log {
			log[j].Key = fmt.Sprint("k", j)
		}
		again := fresh()
		for k, p := range stateful(again) {
			require.NoError(t, p.Restore(stateful(restarts)[k].Snapshot()))
		}
		restarts = again
		in := prune.Input{Provider: "anthropic", Model: "claude-sonnet-4-5", Window: 100_000, Now: now}
		want := prune.Apply(log, in, runs...)
		requireEqualLists(t, want, prune.Apply(message.Clone(log), in, restarts...), fmt.Sprint("turn ", i))
		if i%3 != 1 {
			stateful(runs)[0].Observe(message.Usage{}, now)
			stateful(restarts)[0].Observe(message.Usage{}, now)
		}
		now = now.Add(time.Duration(i*13%400) * time.Second)
	}
	require.NotEmpty(t, stateful(runs)[0].Snapshot())
}
