package compact

import "github.com/go-contextengine/contextengine/message"

// A cutter looks for the place where a view is cut.
type cutter struct {
	s     *settings
	body  []message.Message
	units []message.Unit
}

// A cutPlace is where a tail begins and what the tail costs.
type cutPlace struct {
	at, kept int
	held     bool // pending calls kept the cut from moving further
}

// cut finds the longest tail within the budget that starts where a tail may start.
func (c *cutter) cut(budget int, active bool) (cutPlace, error) {
	free := c.walk(budget)
	k := free
	if pending := c.pending(); active && pending >= 0 {
		k = min(k, pending)
	}
	held := k < free
	k, ok := c.snap(k, held)
	if !ok {
		return cutPlace{}, ErrNoKeys
	}
	at := 0
	if k > 0 {
		at = c.units[k].Start
	}
	return cutPlace{at: at, kept: c.cost(k), held: held}, nil
}

// walk returns the first unit of the longest tail within the budget, at least the last.
func (c *cutter) walk(budget int) int {
	k, total := len(c.units)-1, 0
	for i := len(c.units) - 1; i >= 0; i-- {
		total += c.unitCost(i)
		if total > budget && i < len(c.units)-1 {
			break
		}
		k = i
	}
	return k
}

// pending returns the unit whose calls a running turn waits for; -1: none. Only the last
// unit with calls can be it: an assistant does not go on without its results.
func (c *cutter) pending() int {
	for i := len(c.units) - 1; i >= 0; i-- {
		u := c.units[i]
		if u.Open {
			return i
		}
		if c.body[u.Start].Role == message.RoleAssistant {
			return -1
		}
	}
	return -1
}

// snap moves a cut to the next unit with which a tail may start, forwards where that
// keeps something and parts nothing that is held, else backwards. Keeping everything is
// always possible.
func (c *cutter) snap(k int, held bool) (int, bool) {
	if k == 0 {
		return 0, true
	}
	if !held {
		for i := k; i < len(c.units); i++ {
			if c.startsTail(i) {
				return i, true
			}
		}
	}
	for i := k; i > 0; i-- {
		if c.startsTail(i) {
			return i, true
		}
	}
	for i := range c.body {
		if c.body[i].Key != "" {
			return 0, true
		}
	}
	return 0, false
}

// startsTail reports whether a tail may start with unit i: it can be named, a provider
// takes it, and it is no left-over.
func (c *cutter) startsTail(i int) bool {
	m := &c.body[c.units[i].Start]
	switch m.Role {
	case message.RoleUser, message.RoleAssistant, message.RoleCustom, message.RoleBashExecution:
		return m.Key != ""
	}
	return false
}

// cost is what the tail from unit k on costs.
func (c *cutter) cost(k int) int {
	n := 0
	for i := k; i < len(c.units); i++ {
		n += c.unitCost(i)
	}
	return n
}

func (c *cutter) unitCost(i int) int {
	n := 0
	for j := c.units[i].Start; j < c.units[i].End; j++ {
		n += c.s.counter.Message(c.body[j])
	}
	return n
}
