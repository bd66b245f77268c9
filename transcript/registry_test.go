package transcript_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// Opening, appending, closing and deleting from many goroutines: nothing acknowledged is lost
// unless the session was deleted.
func TestRegistry_OpenCloseAndDeleteTogether(t *testing.T) {
	t.Parallel()
	st, err := transcript.OpenDir(t.TempDir(), nil)
	require.NoError(t, err)
	for _, id := range []string{"kept", "victim"} {
		log, err := st.Create(t.Context(), transcript.Header{ID: id})
		require.NoError(t, err)
		appendAll(t, log, user("start"))
		require.NoError(t, log.Close())
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 20 {
				log, err := st.Open(t.Context(), "kept")
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				if _, err := log.Append(t.Context(), user(fmt.Sprint(w, i))); err != nil {
					t.Errorf("append: %v", err)
				}
				if err := log.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
				if log, err := st.Open(t.Context(), "victim"); err == nil {
					if _, err := log.Append(t.Context(), user("x")); err != nil && !errors.Is(err, fs.ErrClosed) && !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("append to the victim: %v", err)
					}
					_ = log.Close() // it may be gone
				} else if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("open the victim: %v", err)
				}
				if w == 0 && i == 10 {
					if err := st.Delete(t.Context(), "victim"); err != nil {
						t.Errorf("delete: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	log, err := st.Open(t.Context(), "kept")
	require.NoError(t, err)
	defer log.Close()
	require.Len(t, texts(t, log), 1+8*20)
	_, err = st.Open(t.Context(), "victim")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestRegistry_TwoStoresMakeTheSameSession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var logs []transcript.Log
	for range 2 {
		st, err := transcript.OpenDir(dir, nil)
		require.NoError(t, err)
		log, err := st.Create(t.Context(), transcript.Header{ID: "s"})
		require.NoError(t, err)
		defer log.Close()
		logs = append(logs, log)
	}
	appendAll(t, logs[0], user("first"))
	_, err := logs[1].Append(t.Context(), user("second"))
	require.ErrorIs(t, err, fs.ErrExist)
	require.Len(t, listDir(t, dir), 1)
}

// slowHistory waits while it loads one session.
type slowHistory struct {
	*database
	loading, goOn chan struct{}
}

func (h slowHistory) Load(ctx context.Context, id string) ([]message.Message, error) {
	if id == "slow" {
		close(h.loading)
		<-h.goOn
	}
	return h.database.Load(ctx, id)
}

// A host that is slow with one session holds up nobody who wants another.
func TestRegistry_SlowOpeningHoldsUpOnlyItsSession(t *testing.T) {
	t.Parallel()
	h := slowHistory{newDatabase(t), make(chan struct{}), make(chan struct{})}
	for _, id := range []string{"slow", "quick"} {
		require.NoError(t, h.Append(t.Context(), id, message.User(id)))
	}
	st := transcript.FromHistory(h)
	done := make(chan error)
	go func() {
		_, err := st.Open(t.Context(), "slow")
		done <- err
	}()
	<-h.loading
	quick, err := st.Open(t.Context(), "quick")
	require.NoError(t, err)
	require.Equal(t, []string{"quick"}, texts(t, quick))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = st.Open(ctx, "slow")
	require.ErrorIs(t, err, context.Canceled)
	close(h.goOn)
	require.NoError(t, <-done)
}
