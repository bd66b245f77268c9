//go:build unix

package transcript_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// lockFile is another process that writes to a file.
func lockFile(t testing.TB, path string) (release func()) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	return func() { require.NoError(t, f.Close()) }
}

// A session whose append waits for another process holds up nobody who wants another session.
func TestClose_WhileAnAppendWaits(t *testing.T) {
	t.Parallel()
	dir := newSessionDir(t)
	st := openDir(t, dir, nil)
	log, err := st.Open(t.Context(), "s")
	require.NoError(t, err)
	release := lockFile(t, filepath.Join(dir, listDir(t, dir)[0]))
	ctx, stop := context.WithCancel(t.Context())
	appended := make(chan error, 1)
	go func() {
		_, err := log.Append(ctx, user("x"))
		appended <- err
	}()
	closed := make(chan error, 1)
	go func() { closed <- log.Close() }()
	other, err := st.Create(t.Context(), transcript.Header{ID: "other"})
	require.NoError(t, err)
	appendAll(t, other, user("y"))
	for range st.List(t.Context()) {
		continue
	}
	require.NoError(t, other.Close())
	stop()
	<-appended // it may have come after Close
	require.NoError(t, <-closed)
	release()
}

// Files that a rewrite has replaced are closed when nobody reads them any more. The test counts
// what the process has open, so no other may run beside it.
func TestTrim_ReplacedFilesAreClosed(t *testing.T) {
	const open = "/proc/self/fd"
	if _, err := os.Stat(open); err != nil {
		return // a system that does not tell
	}
	path := writeSession(t, header, msg("a", "", "user", "one"))
	log, err := transcript.OpenFileTrimming(path, nil, 2_000)
	require.NoError(t, err)
	defer log.Close()
	for i := range 5 {
		appendAll(t, log, user(fmt.Sprint("m", i)), assistant(strings.Repeat("filling ", 50)))
	}
	count := func() int {
		runtime.GC()
		return len(listDir(t, open))
	}
	before, trims := count(), 0
	for i := range 80 {
		r, err := log.Rewrite(t.Context(), transcript.RewriteRequest{Generation: viewOf(t, log).Generation, Replacements: []transcript.Replacement{
			{EntryID: "a", Message: message.User(fmt.Sprint("one", i))},
		}})
		require.NoError(t, err)
		if r.LogGrowth < 0 {
			trims++
		}
	}
	require.Greater(t, trims, 10)
	for range 100 {
		if count()-before < 5 {
			return
		}
		runtime.Gosched()
	}
	t.Fatalf("%d files more are open than before", count()-before)
}
