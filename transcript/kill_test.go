package transcript_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// account is what a process that was killed said it had stored.
type account struct {
	stored []string        // texts, in order
	was    map[string]bool // texts that a rewrite may have taken out: it was said, or may have been under way
}

// A process that appends and rewrites is killed again and again: what it said it had stored is
// there, in order, and the session opens and takes more.
func TestFault_KillNineInALoopOfAppendsAndRewrites(t *testing.T) {
	t.Parallel()
	rounds := 20
	switch {
	case os.Getenv("CONTEXTENGINE_NIGHTLY") != "":
		rounds = 500
	case testing.Short():
		rounds = 3
	}
	var dir string
	var a account
	for round := range rounds {
		if round%10 == 0 { // a new session now and then, or the log only gets longer
			dir, a = newSessionDir(t), account{}
		}
		a.was = map[string]bool{}
		cmd, out := startChild(t, fmt.Sprintf("churn:%d", round), dir)
		lives := 3 + round%11
		for out.Scan() {
			a.said(t, out.Text())
			if lives--; lives == 0 { // not right after a write, but at any moment of the next ones
				time.AfterFunc(time.Duration(round*137%1500)*time.Microsecond, func() { _ = cmd.Process.Kill() })
			}
		}
		require.Error(t, cmd.Wait())
		a.check(t, dir)
	}
}

// said takes down a line: "+ text" for a message stored, "? old" before one is replaced, and
// "~ old\tnew" when that is done.
func (a *account) said(t *testing.T, line string) {
	t.Helper()
	kind, text, _ := strings.Cut(line, " ")
	switch kind {
	case "+":
		a.stored = append(a.stored, text)
	case "?":
		a.was = map[string]bool{text: true}
	case "~":
		old, now, _ := strings.Cut(text, "\t")
		i := slices.Index(a.stored, old)
		require.GreaterOrEqual(t, i, 0, "replaced %q, which was not there", old)
		a.stored[i], a.was = now, map[string]bool{}
	}
}

// missing returns what is not in shown, in order, although it was stored.
func (a *account) missing(shown []string) []string {
	var missing []string
	at := 0
	for _, text := range a.stored {
		i := slices.Index(shown[at:], text)
		if i < 0 {
			missing = append(missing, text)
			continue
		}
		at += i + 1
	}
	return missing
}

// check reopens the session and looks for everything that was stored. The message whose
// replacement had begun may be gone.
func (a *account) check(t *testing.T, dir string) {
	t.Helper()
	log := openIn(t, dir, "s")
	require.LessOrEqual(t, len(log.Problems()), 1, "at most the torn end")
	for _, text := range a.missing(texts(t, log)) {
		require.True(t, a.was[text], "%q was stored and is not there", text)
		a.stored = slices.DeleteFunc(a.stored, func(s string) bool { return s == text })
	}
	appendAll(t, log, user("after the kill"))
	require.Empty(t, log.Problems())
	require.NoError(t, log.Close())
}

func TestAccount_SeesEveryLoss(t *testing.T) {
	t.Parallel()
	dir := newSessionDir(t)
	log := openIn(t, dir, "s")
	out := appendAll(t, log, user("r0-0-a"), user("r0-0-b"))
	var a account
	a.said(t, "+ start")
	a.said(t, "+ r0-0-a")
	a.said(t, "+ r0-0-b")
	a.said(t, "? r0-0-a")
	_, err := log.Rewrite(t.Context(), transcript.RewriteRequest{Generation: viewOf(t, log).Generation, Replacements: []transcript.Replacement{
		{EntryID: out[0].ID, Message: message.User("first r0-0")},
	}})
	require.NoError(t, err)
	a.said(t, "~ r0-0-a\tfirst r0-0")
	require.Empty(t, a.missing(texts(t, log)))
	a.said(t, "+ r1-0-a")
	require.Equal(t, []string{"r1-0-a"}, a.missing(texts(t, log)), "what an earlier rewrite took out does not make up for it")
	require.False(t, a.was["r1-0-a"])
}
