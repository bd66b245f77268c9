package contextengine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

// healthScript is a store that fails or panics on request.
type healthScript struct {
	puts, clears []string
	list         []ce.Quarantine
	err          error
	panics       bool
}

func (h *healthScript) fate() error {
	if h.panics {
		panic("store")
	}
	return h.err
}

func (h *healthScript) Put(_ context.Context, q ce.Quarantine) error {
	h.puts = append(h.puts, q.EngineID)
	return h.fate()
}

func (h *healthScript) List(context.Context) ([]ce.Quarantine, error) { return h.list, h.fate() }

func (h *healthScript) Clear(_ context.Context, id string) error {
	h.clears = append(h.clears, id)
	return h.fate()
}

func TestSpec01_15_17_HealthStoreSeesEveryRecord(t *testing.T) {
	dir := t.TempDir()
	r, f := newRegistry(), newFake(allHooks)
	r.Now = nil
	r.Health = ce.FileHealth(dir)
	f.on = fail("ingest", errBoom)
	h := resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "ingest")
	require.NoError(t, err)
	_, err = r.Resolve(t.Context(), ce.Selection{Engine: "ghost"})
	require.NoError(t, err)

	// Another process sees them; its own record of an id hides a foreign one.
	other := newRegistry()
	other.Health = ce.FileHealth(dir)
	seen := other.Quarantines()
	require.Len(t, seen, 2)
	require.Equal(t, "x", seen[0].EngineID)
	require.Equal(t, "boom", seen[0].Reason)
	_, err = other.Resolve(t.Context(), ce.Selection{Engine: "x"})
	require.NoError(t, err)
	require.Equal(t, "not registered", other.Quarantines()[0].Reason)
	require.Len(t, other.Quarantines(), 2)

	// What other processes know decides nothing here.
	require.NoError(t, other.Register("ghost", "plugin:ghost", factoryOf(newFake(0))))
	g, err := other.Resolve(t.Context(), ce.Selection{Engine: "ghost"})
	require.NoError(t, err)
	require.Equal(t, "fake", g.Status().Answering)

	r.ClearQuarantine("x")
	require.NoError(t, r.Register("ghost", "plugin:ghost", factoryOf(newFake(0))))
	list, err := ce.FileHealth(dir).List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1, "only what the other registry recorded is left")
	other.UnregisterOwner("plugin:ghost")
}

func TestSpec01_15_17_StoreFailuresNeverAffectACall(t *testing.T) {
	for _, store := range []*healthScript{{err: errors.New("disk full")}, {panics: true}} {
		r, f := newRegistry(), newFake(allHooks)
		r.Health = store
		f.on = fail("assemble", errBoom)
		h := resolve(t, r, f, ce.Selection{})
		_, err := callHook(t.Context(), h, "assemble")
		require.NoError(t, err)
		require.Len(t, r.Quarantines(), 1)
		r.ClearQuarantine("x")
		require.Empty(t, r.Quarantines())
		require.Equal(t, []string{"x"}, store.puts)
		require.Equal(t, []string{"x"}, store.clears)
		require.Contains(t, r.out.lines()[1], "health store failed")
	}
}

func TestHealthRecordsStayLiveWhileTheHostGoesOn(t *testing.T) {
	r, f, store := newRegistry(), newFake(allHooks), &healthScript{}
	now := time.Unix(1_700_000_000, 0)
	r.Now = func() time.Time { return now }
	r.Health = store
	f.on = fail("assemble", errBoom)
	h := resolve(t, r, f, ce.Selection{})
	for range 5 {
		_, err := callHook(t.Context(), h, "assemble")
		require.NoError(t, err)
	}
	require.Len(t, store.puts, 1)
	now = now.Add(2 * time.Minute)
	for range 5 {
		_, err := callHook(t.Context(), h, "assemble")
		require.NoError(t, err)
	}
	require.Len(t, store.puts, 2, "refreshed once")
}

func TestQuarantinesAreCopies(t *testing.T) {
	r := newRegistry()
	h, err := r.Resolve(t.Context(), ce.Selection{Engine: "ghost"})
	require.NoError(t, err)
	r.Quarantines()[0].Reason = "changed"
	h.Status().Quarantine.Reason = "changed"
	require.Equal(t, "not registered", r.Quarantines()[0].Reason)
	require.Equal(t, "not registered", h.Status().Quarantine.Reason)
}

// stuckStore does not come back until it is released.
type stuckStore struct {
	healthScript
	release chan struct{}
}

func (s *stuckStore) Put(context.Context, ce.Quarantine) error { <-s.release; return nil }

func (s *stuckStore) List(context.Context) ([]ce.Quarantine, error) { <-s.release; return nil, nil }

func TestSpec01_15_17_StoreThatHangsDelaysNobodyForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, f := newRegistry(), newFake(allHooks)
		store := &stuckStore{release: make(chan struct{})}
		r.Health = store
		f.on = fail("assemble", errBoom)
		h := resolve(t, r, f, ce.Selection{})
		start := time.Now()
		_, err := callHook(t.Context(), h, "assemble")
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(start), 100*time.Millisecond)
		start = time.Now()
		for range 10 {
			r.ClearQuarantine("x")
			_, err = callHook(t.Context(), h, "assemble")
			require.NoError(t, err)
		}
		require.Zero(t, time.Since(start), "known to hang: not waited for again")
		require.Len(t, r.Quarantines(), 1)
		close(store.release)
		synctest.Wait()
	})
}

func TestSpec01_15_17_MirrorEndsWithWhatIsTrue(t *testing.T) {
	r, f, store := newRegistry(), newFake(allHooks), &safeHealth{}
	r.Health = store
	f.on = fail("assemble", errBoom)
	old := resolve(t, r, f, ce.Selection{})
	for range 50 {
		_, err := callHook(t.Context(), old, "assemble")
		require.NoError(t, err)
		require.Contains(t, store.held, "x")
		r.ClearQuarantine("x")
		require.NotContains(t, store.held, "x")
	}
	_, err := callHook(t.Context(), old, "assemble")
	require.NoError(t, err)
	now := r.Now().Add(time.Hour)
	r.Now = func() time.Time { return now }
	require.NoError(t, r.Register("x", "plugin:x", factoryOf(newFake(0))))
	require.Empty(t, store.held)
	_, err = callHook(t.Context(), old, "assemble")
	require.NoError(t, err)
	require.Empty(t, store.held, "a replaced generation is not refreshed")
	require.NoError(t, r.Register("x", "plugin:x", factoryOf(f)))
	late := resolve(t, r, f, ce.Selection{})
	_, err = callHook(t.Context(), late, "assemble")
	require.NoError(t, err)
	require.Contains(t, store.held, "x")
	r.UnregisterOwner("plugin:x")
	require.Empty(t, store.held)
}

type safeHealth struct {
	mu   sync.Mutex
	held map[string]ce.Quarantine
}

func (s *safeHealth) Put(_ context.Context, q ce.Quarantine) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held = map[string]ce.Quarantine{}
	}
	s.held[q.EngineID] = q
	return nil
}

func (s *safeHealth) List(context.Context) ([]ce.Quarantine, error) { return nil, nil }

func (s *safeHealth) Clear(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, id)
	return nil
}
