package transcript

import "sync"

// registry has the sessions of a store that are open, so that opening one twice gives one state.
// Its store's mutex guards it.
type registry struct {
	open map[string]*openSession
}

// openSession counts the logs that are open on a session.
type openSession struct {
	s    *session
	logs int
}

// lend gives out one more log on a session. The caller holds mu.
func (r *registry) lend(mu *sync.Mutex, id string, s *session) Log {
	o, ok := r.open[id]
	if !ok {
		o = &openSession{s: s}
		r.open[id] = o
	}
	o.logs++
	return &handle{s: s, release: func() error {
		mu.Lock()
		defer mu.Unlock()
		return r.release(id, o)
	}}
}

func (r *registry) release(id string, o *openSession) error {
	o.logs--
	if o.logs > 0 {
		return nil
	}
	if r.open[id] == o {
		delete(r.open, id)
	}
	return o.s.close()
}
