package compact_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

func TestC11_SummariserInputIsBounded(t *testing.T) {
	t.Parallel()
	const window = 20_000
	var ms []message.Message
	for i := range 851 {
		ms = append(ms, message.Custom("extension", message.Text(fmt.Sprintf("event %d: %s", i, strings.Repeat("state changed; ", 30)))))
	}
	ms = append(ms, call("big"), message.ToolResult("big", "read", message.Text(strings.Repeat("漢字 data ", 8_000))))
	ms = append(ms, talk(5)...)
	store, _ := newLog(t, ms...)
	refuse := compact.Scripted(compact.Reply{Err: &compact.TooLargeError{}})
	probe := &probe{Summarizer: compact.Scripted(compact.Reply{Text: "Events came in; nothing else."}), window: window}
	c := compactor(t, store, &compact.Options{KeepRecent: 500, Summarizer: probe})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted, res.Detail)
	require.Greater(t, probe.most, window/4, "the window is used")
	require.LessOrEqual(t, probe.most, window*10/12)
	require.Greater(t, probe.calls, 3)
	var d compact.Details
	require.NoError(t, json.Unmarshal(res.Result.Details, &d))
	require.Equal(t, probe.calls, d.Calls)
	require.LessOrEqual(t, d.Calls, compact.DefaultMaxCalls)

	store, log := newLog(t, ms...)
	c = compactor(t, store, &compact.Options{KeepRecent: 500, Summarizer: refuse, Extractive: compact.PolicyAlways})
	res, err = c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted, "it ends with a deterministic summary: %s", res.Detail)
	require.Len(t, refuse.Requests(), 4, "the oldest fifth goes three times")
	for i := 1; i < 4; i++ {
		require.Less(t, len(refuse.Requests()[i].Source), len(refuse.Requests()[i-1].Source))
	}
	require.Contains(t, view(t, log).Messages[0].Summary, "without a model")
}

// A probe measures what a summariser is sent.
type probe struct {
	compact.Summarizer
	window, most, calls int
}

func (p *probe) Describe() compact.Model {
	return compact.Model{Provider: "p", Name: "m", Window: p.window}
}

func (p *probe) Summarize(ctx context.Context, r compact.Request) (compact.Summary, error) {
	n := tokens.ScriptAware().Text(r.Source + r.Previous + r.Instructions + strings.Join(r.Identifiers, "\n"))
	p.most = max(p.most, n)
	p.calls++
	return p.Summarizer.Summarize(ctx, r)
}

func TestTooLargeOnceIsSentSmaller(t *testing.T) {
	t.Parallel()
	store, _ := newLog(t, talk(20)...)
	s := compact.Scripted(compact.Reply{Err: errors.New("prompt is too long: 9 tokens > 8 maximum")}, compact.Reply{Text: "The migration locks tables."})
	c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: compact.WithCompleter(completer{s})})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted, res.Detail)
	var d compact.Details
	require.NoError(t, json.Unmarshal(res.Result.Details, &d))
	require.Positive(t, d.LeftOut)
}

// A completer answers from a script.
type completer struct{ script *compact.Script }

func (c completer) Complete(ctx context.Context, r ce.CompletionRequest) (ce.Completion, error) {
	s, err := c.script.Summarize(ctx, compact.Request{Source: r.System + "\n" + r.Messages[0].Text(), TargetTokens: r.MaxTokens})
	return ce.Completion{Text: s.Text}, err
}

func TestDeadlineAndCancellation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, log := newLog(t, talk(20)...)
		before := dump(t, log)
		slow := compact.Scripted(compact.Reply{Text: "late", After: time.Hour})
		c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: slow})

		start := time.Now()
		res, err := c.CompactSession(t.Context(), manual())
		require.NoError(t, err, "its own deadline is an ordinary failure")
		require.Equal(t, ce.ReasonDeadline, res.Reason)
		require.Equal(t, compact.DefaultTimeout, time.Since(start))

		cause := errors.New("user pressed stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		res, err = c.CompactSession(ctx, manual())
		require.ErrorIs(t, err, cause)
		require.Equal(t, ce.ReasonCancelled, res.Reason)
		require.False(t, res.OK)

		res, err = c.CompactSession(ctx, manual())
		require.ErrorIs(t, err, cause, "nothing is done for a caller who is gone")
		require.Equal(t, ce.ReasonCancelled, res.Reason)

		short, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		res, err = c.CompactSession(short, manual())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, ce.ReasonDeadline, res.Reason)
		require.Equal(t, before, dump(t, log))
	})
}

func TestSupersededByAnotherCompaction(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	other := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: compact.Scripted(compact.Reply{Text: "other"})})
	c := compactor(t, store, &compact.Options{
		KeepRecent: 800,
		Summarizer: compact.Scripted(compact.Reply{Text: "mine"}),
		Before: func(ctx context.Context, _ compact.Cycle) error {
			res, err := other.CompactSession(ctx, manual())
			require.True(t, res.Compacted)
			return err
		},
	})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.Equal(t, ce.ReasonSuperseded, res.Reason)
	require.True(t, res.OK)
	require.False(t, res.Compacted)
	require.Contains(t, view(t, log).Messages[0].Summary, "other")
}

func TestRowsThatArriveMeanwhileStay(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	c := compactor(t, store, &compact.Options{
		KeepRecent: 800, Summarizer: compact.Scripted(compact.Reply{Text: "mine"}),
		Before: func(context.Context, compact.Cycle) error {
			appendAll(t, log, message.User("one more thing"))
			return nil
		},
	})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted)
	ms := view(t, log).Messages
	require.Equal(t, "one more thing", ms[len(ms)-1].Text())
}

func TestUnknownSession(t *testing.T) {
	t.Parallel()
	c := compactor(t, transcript.NewMemory(), nil)
	_, err := c.CompactSession(t.Context(), manual())
	require.ErrorContains(t, err, `"s"`)
}

// The same promise on disk: not a byte of the file changes.
func TestFailureLeavesTheFileAsItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := transcript.OpenDir(dir, nil)
	require.NoError(t, err)
	log, err := store.Create(t.Context(), transcript.Header{ID: "s"})
	require.NoError(t, err)
	appendAll(t, log, talk(20)...)
	defer func() { require.NoError(t, log.Close()) }()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	read := func() string {
		var b strings.Builder
		for _, f := range files {
			raw, err := os.ReadFile(f)
			require.NoError(t, err)
			b.Write(raw)
		}
		return b.String()
	}
	before := read()
	require.NotEmpty(t, before)
	for _, reply := range []compact.Reply{{}, {Err: &compact.AuthError{}}, {Err: &compact.TooLargeError{}}, {Text: strings.Repeat("no shorter at all ", 9_000)}} {
		c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: compact.Scripted(reply)})
		res, err := c.CompactSession(t.Context(), manual())
		require.NoError(t, err)
		require.False(t, res.OK)
		require.Equal(t, before, read())
	}
	c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: brief()})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted)
	require.True(t, strings.HasPrefix(read(), before), "a success only appends")
	require.Equal(t, strings.Count(before, "\n")+1, strings.Count(read(), "\n"), "one row")
}

func TestPreviousSummaryOfALargerModel(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	_, err := log.CommitCompaction(t.Context(), view(t, log).Generation, transcript.Compaction{
		Summary: strings.Repeat("An old and very long story goes on. ", 10_000), FirstKeptEntryID: view(t, log).Messages[4].Key,
	})
	require.NoError(t, err)
	probe := &probe{Summarizer: compact.Scripted(compact.Reply{Text: "A story and a migration."}), window: 20_000}
	c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: probe})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted, res.Detail)
	require.LessOrEqual(t, probe.most, 20_000)
}

func TestConcurrentCompactionsOfOneSession(t *testing.T) {
	t.Parallel()
	store, log := newLog(t, talk(20)...)
	c := compactor(t, store, &compact.Options{KeepRecent: 800, Summarizer: brief()})
	const n = 8
	results := make([]ce.CompactResult, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			res, err := c.CompactSession(t.Context(), manual())
			assert.NoError(t, err)
			results[i] = res
		})
	}
	wg.Wait()
	compacted := 0
	for _, res := range results {
		require.True(t, res.OK)
		if res.Compacted {
			compacted++
			continue
		}
		require.Contains(t, []ce.CompactionReason{ce.ReasonSuperseded, ce.ReasonNothingToCompact}, res.Reason)
	}
	require.Equal(t, 1, compacted)
	require.Len(t, summaries(view(t, log).Messages), 1)
}

// A begun turn that is shorter than any summary of it is kept in its own words.
func TestSmallBegunTurn(t *testing.T) {
	t.Parallel()
	ms := append(talk(20), message.User("and now?"))
	ms = append(ms, call("x"), result("x"), call("y"), result("y"))
	store, _ := newLog(t, ms...)
	long := strings.Repeat("The migration was looked at in every detail. ", 8)
	c := compactor(t, store, &compact.Options{KeepRecent: 30, Summarizer: compact.Scripted(compact.Reply{Text: long})})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted, res.Detail)
	require.Contains(t, res.Result.Summary, "## Turn in progress\n[User]: and now?")
}

// However long a session is, its parts are merged within the requests that are allowed.
func TestMergingStaysWithinTheCalls(t *testing.T) {
	t.Parallel()
	store, _ := newLog(t, talk(800)...)
	replies := make([]compact.Reply, compact.DefaultMaxCalls) // all different: a merged summary that is one of its parts is an echo
	for i := range replies {
		replies[i].Text = strings.Repeat(fmt.Sprintf("Something was said about step %d of the migration. ", i), 30)
	}
	verbose := &probe{Summarizer: compact.Scripted(replies...), window: 16_000}
	c := compactor(t, store, &compact.Options{KeepRecent: 500, Summarizer: verbose})
	res, err := c.CompactSession(t.Context(), manual())
	require.NoError(t, err)
	require.True(t, res.Compacted, res.Detail)
	require.LessOrEqual(t, verbose.most, 16_000)
	require.LessOrEqual(t, verbose.calls, compact.DefaultMaxCalls)
	require.Greater(t, verbose.calls, 10)
}
