package host

import (
	"context"
	"slices"
	"sync"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/prune"
)

// A session is what a Host knows of a session beyond its log. It belongs to
// whoever holds the session's claim, except for what mu guards.
type session struct {
	// bootstrapped is the engine that took the session up last; nil: none did.
	bootstrapped *engine
	passes       []prune.Pass
	hasPasses    bool
	paired       paired // what was sent last

	mu       sync.Mutex
	record   record
	recalled bool   // the stored state was read
	lane     string // under what name background work was last scheduled
}

// take makes s go on where former stood: the same conversation under another id. Passes
// have one owner.
func (s *session) take(former *session) {
	if s == former {
		return
	}
	s.known()
	s.passes, s.hasPasses = former.passes, former.hasPasses
	former.passes, former.hasPasses = nil, false
	r := former.snapshot()
	s.update(func(own *record) { *own = r })
}

func (s *session) snapshot() record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

// known reports whether the stored state was read, which it counts as from now on.
func (s *session) known() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.recalled
	s.recalled = true
	return was
}

func (s *session) update(change func(*record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.record)
}

// used is what the provider last counted; 0: unknown.
func (s *session) used() int { return s.snapshot().Used }

// sessions has the claims on sessions and what is known of them.
type sessions struct {
	mu     sync.Mutex
	claims map[string]*claimSlot
	known  map[string]*session // by session id
}

// A claimSlot is a token that the open turn of a session holds.
type claimSlot struct {
	token chan struct{}
	users int // holders and waiters; the slot goes with the last
}

// A claim is the right to be the session's only turn.
type claim struct {
	of    *sessions
	names []string
}

func newSessions() *sessions {
	return &sessions{claims: map[string]*claimSlot{}, known: map[string]*session{}}
}

// claim waits for the session's open turn. A session is the same when its key is,
// or its id; keys come first, so that two claims cannot wait for each other.
func (s *sessions) claim(ctx context.Context, ref ce.SessionRef) (*claim, error) {
	c := &claim{of: s}
	if ref.SessionKey != "" {
		if err := c.add(ctx, keyName(ref.SessionKey)); err != nil {
			return nil, err
		}
	}
	if ref.SessionID == "" {
		return c, nil
	}
	if err := c.add(ctx, idName(ref.SessionID)); err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

func keyName(key string) string { return "key " + key }
func idName(id string) string   { return "id " + id }

// try extends the claim to one more name if that is free.
func (c *claim) try(name string) bool {
	slot := c.of.slot(name)
	select {
	case slot.token <- struct{}{}:
		c.names = append(c.names, name)
		return true
	default:
		c.of.leave(name, slot)
		return false
	}
}

// add extends the claim to one more name.
func (c *claim) add(ctx context.Context, name string) error {
	if slices.Contains(c.names, name) {
		return nil
	}
	slot := c.of.slot(name)
	select {
	case slot.token <- struct{}{}:
		c.names = append(c.names, name)
		return nil
	default:
	}
	select {
	case slot.token <- struct{}{}:
		c.names = append(c.names, name)
		return nil
	case <-ctx.Done():
		c.of.leave(name, slot)
		return context.Cause(ctx)
	}
}

// drop gives up one name of the claim.
func (c *claim) drop(name string) {
	c.names = slices.DeleteFunc(c.names, func(n string) bool { return n == name })
	c.of.give(name)
}

// release lets the next turn in. It is idempotent.
func (c *claim) release() {
	for i := len(c.names) - 1; i >= 0; i-- {
		c.of.give(c.names[i])
	}
	c.names = nil
}

// give gives a token back.
func (s *sessions) give(name string) {
	s.mu.Lock()
	slot := s.claims[name]
	s.mu.Unlock()
	<-slot.token
	s.leave(name, slot)
}

func (s *sessions) slot(name string) *claimSlot {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := s.claims[name]
	if slot == nil {
		slot = &claimSlot{token: make(chan struct{}, 1)}
		s.claims[name] = slot
	}
	slot.users++
	return slot
}

func (s *sessions) leave(name string, slot *claimSlot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot.users--; slot.users == 0 {
		delete(s.claims, name)
	}
}

// get returns what is known of a session, made at the first need.
func (s *sessions) get(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.known[id]
	if st == nil {
		st = &session{}
		s.known[id] = st
	}
	return st
}

// peek returns what is known of a session; nil: nothing.
func (s *sessions) peek(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[id]
}

// unload drops what the state store has as well, of a session that nobody is at. It
// is read again at the session's next turn.
func (s *sessions) unload(id string) {
	st := s.peek(id)
	if st == nil {
		return
	}
	c := &claim{of: s}
	if !c.try(idName(id)) {
		return
	}
	defer c.release()
	st.passes, st.hasPasses, st.paired = nil, false, paired{}
	st.mu.Lock()
	defer st.mu.Unlock()
	st.recalled = false
}

func (s *sessions) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
}
