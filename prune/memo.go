package prune

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/go-contextengine/contextengine/message"
)

// A verdict says what became of one message.
type verdict uint8

const (
	kept verdict = iota
	replaced
	dropped
)

// A memo rewrites a list from left to right and remembers what came of each message, so
// that a list that begins like the last one costs only its new end. Messages are
// immutable, so equal headers over the same blocks mean the same message; messages that
// were decoded again are compared in full.
type memo struct {
	seen    []message.Message
	out     []message.Message // nil while seen is what comes out
	ends    []int             // length of out after each of seen; nil while none was dropped
	changed int               // how many of seen were not kept
	shared  bool              // a caller has out: it may grow, but what it holds may not change
}

// prefix is how much of ms is as it was.
func (c *memo) prefix(ms []message.Message) int {
	return c.prefixFrom(ms, 0)
}

// prefixFrom is prefix where the caller knows that the first known messages of ms are as
// they were.
func (c *memo) prefixFrom(ms []message.Message, known int) int {
	n := min(len(ms), len(c.seen))
	i := min(n, known)
	for i < n && same(&ms[i], &c.seen[i]) {
		i++
	}
	return i
}

// cut forgets what follows the first n messages.
func (c *memo) cut(n int) {
	if n >= len(c.seen) {
		return
	}
	end := c.end(n)
	c.changed -= c.changesFrom(n)
	clear(c.seen[n:])
	c.seen = c.seen[:n]
	switch {
	case c.changed == 0:
		c.out, c.ends, c.shared = nil, nil, false
	case c.shared:
		c.out, c.shared = slices.Clone(c.out[:end]), false
	default:
		c.out = c.out[:end]
	}
	if c.ends != nil {
		c.ends = c.ends[:n]
	}
}

// end is the length of what came out of the first n messages.
func (c *memo) end(n int) int {
	if c.ends == nil || n == 0 {
		return n
	}
	return c.ends[n-1]
}

// at is what came of message i, the last of those that were not dropped before it.
func (c *memo) at(i int) *message.Message {
	if c.out == nil {
		return &c.seen[i]
	}
	return &c.out[c.end(i)]
}

// changesFrom counts the messages from n on that were not kept.
func (c *memo) changesFrom(n int) int {
	if c.changed == 0 {
		return 0
	}
	changes := 0
	for i := n; i < len(c.seen); i++ {
		if c.end(i+1) == c.end(i) || !same(c.at(i), &c.seen[i]) {
			changes++
		}
	}
	return changes
}

// add records the next message.
func (c *memo) add(m message.Message, to message.Message, v verdict) {
	if v == replaced && same(&m, &to) {
		v = kept
	}
	if v != kept {
		if c.changed == 0 {
			c.out = slices.Clone(c.seen)
		}
		if v == dropped && c.ends == nil {
			c.ends = make([]int, len(c.seen))
			for i := range c.ends {
				c.ends[i] = i + 1
			}
		}
		c.changed++
	}
	c.seen = append(c.seen, m)
	if c.changed > 0 && v != dropped {
		c.out = append(c.out, to)
	}
	if c.ends != nil {
		c.ends = append(c.ends, len(c.out))
	}
}

// result is the rewritten list: ms itself, which seen must equal, when nothing changed. An
// append to it copies, so it reaches neither the memo nor what follows ms in its array.
func (c *memo) result(ms []message.Message) []message.Message {
	if c.changed == 0 {
		return slices.Clip(ms)
	}
	c.shared = true
	return slices.Clip(c.out)
}

// same reports whether a and b are the same message with the same key.
func same(a, b *message.Message) bool {
	return a.Key == b.Key && a.Role == b.Role && a.Timestamp.Equal(b.Timestamp) &&
		a.ToolCallID == b.ToolCallID && a.ToolName == b.ToolName && a.IsError == b.IsError &&
		a.StopReason == b.StopReason && a.ErrorMessage == b.ErrorMessage &&
		a.API == b.API && a.Provider == b.Provider && a.Model == b.Model &&
		a.Summary == b.Summary && a.TokensBefore == b.TokensBefore &&
		a.Usage == b.Usage && sameBlocks(a.Content, b.Content) && sameExtra(a.Extra, b.Extra)
}

func sameBlocks(a, b []message.Block) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if x.Type != y.Type || x.Text != y.Text || x.Signature != y.Signature || x.ID != y.ID || x.Name != y.Name ||
			x.Data != y.Data || x.MIMEType != y.MIMEType || !bytes.Equal(x.Arguments, y.Arguments) || !sameExtra(x.Extra, y.Extra) {
			return false
		}
	}
	return true
}

func sameExtra(a, b map[string]json.RawMessage) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() {
		return true
	}
	return maps.EqualFunc(a, b, func(x, y json.RawMessage) bool { return bytes.Equal(x, y) })
}
