package tokens

import "sync"

// A meterShard is a cache of two generations: what is asked for moves to the young
// one, and when that is full the old one is forgotten.
type meterShard struct {
	limit int

	mu         sync.Mutex
	young, old countTable
}

func (s *meterShard) get(key uint64) (int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n, ok := s.young.get(key); ok {
		return n, true
	}
	n, ok := s.old.get(key)
	if ok {
		s.add(key, n)
	}
	return n, ok
}

func (s *meterShard) put(key uint64, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(key, n)
}

// add needs mu held.
func (s *meterShard) add(key uint64, n int) {
	if s.young.used >= s.limit {
		s.young, s.old = s.old, s.young
		s.young.clear()
	}
	s.young.put(key, n)
}

// A countTable maps hashes to counts with open addressing: the keys are hashes
// already, and a look-up in a Go map takes several times as long. The zero value is an
// empty table.
type countTable struct {
	slots []countSlot // a power of two, at most half full
	used  int
}

type countSlot struct {
	key   uint64 // 0: free
	count int
}

// smallestTable is the first size of a table, in slots.
const smallestTable = 16

// slot returns where key is or belongs; a table that is at most half full has a free one.
// The low bits chose the shard, so higher ones are used.
func (t *countTable) slot(key uint64) *countSlot {
	mask := uint64(len(t.slots) - 1)
	for i := key >> 32; ; i++ {
		if s := &t.slots[i&mask]; s.key == key || s.key == 0 {
			return s
		}
	}
}

func (t *countTable) get(key uint64) (int, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	s := t.slot(max(key, 1))
	return s.count, s.key != 0
}

func (t *countTable) put(key uint64, n int) {
	if 2*(t.used+1) > len(t.slots) {
		t.grow()
	}
	key = max(key, 1)
	s := t.slot(key)
	if s.key == 0 {
		t.used++
	}
	*s = countSlot{key, n}
}

func (t *countTable) grow() {
	old := t.slots
	t.slots = make([]countSlot, max(smallestTable, 2*len(old)))
	for _, s := range old {
		if s.key != 0 {
			*t.slot(s.key) = s
		}
	}
}

func (t *countTable) clear() {
	clear(t.slots)
	t.used = 0
}
