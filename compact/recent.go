package compact

// recent keeps a record for each of the most recently used names, up to a limit. It is not
// safe for concurrent use.
type recent[R any] struct {
	limit   int
	uses    uint64
	records map[string]*recentRecord[R]
}

type recentRecord[R any] struct {
	lastUse uint64 // as counted by recent.uses
	record  R
}

func newRecent[R any](limit int) recent[R] {
	return recent[R]{limit: limit, records: map[string]*recentRecord[R]{}}
}

// get returns the record of a name, nil if there is none. This is no use of it.
func (c *recent[R]) get(name string) *R {
	if r := c.records[name]; r != nil {
		return &r.record
	}
	return nil
}

// use returns the record of a name. A new one takes the place of the least recently used
// when there are as many as the limit.
func (c *recent[R]) use(name string) *R {
	r := c.records[name]
	if r == nil {
		if len(c.records) >= c.limit {
			c.forget(c.leastRecent())
		}
		r = &recentRecord[R]{}
		c.records[name] = r
	}
	c.uses++
	r.lastUse = c.uses
	return &r.record
}

func (c *recent[R]) forget(name string) { delete(c.records, name) }

func (c *recent[R]) leastRecent() string {
	name, least := "", c.uses+1
	for n, r := range c.records {
		if r.lastUse < least {
			name, least = n, r.lastUse
		}
	}
	return name
}
