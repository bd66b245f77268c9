package prune

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// An IDMode says which call ids a provider takes.
type IDMode string

const (
	// IDsAsTheyAre changes nothing.
	IDsAsTheyAre IDMode = ""
	// IDsStrict are up to 40 letters and digits; ids of the form functions.name:0 keep it,
	// because models that number their calls so count on.
	IDsStrict IDMode = "strict"
	// IDsNative are up to 40 letters and digits, with toolu_ ids of up to 64 characters as
	// they are: Anthropic made them.
	IDsNative IDMode = "strict-native"
	// IDsNine are nine letters and digits, as Mistral wants them.
	IDsNine IDMode = "strict9"
)

// Valid reports whether m is one of the constants. Others are treated as IDsStrict.
func (m IDMode) Valid() bool {
	return m == IDsAsTheyAre || m == IDsStrict || m == IDsNative || m == IDsNine
}

const (
	maxIDLen     = 40
	nineLen      = 9
	idHashLen    = 8
	maxIDRetries = 1_000
)

var (
	nativeID   = regexp.MustCompile(`^toolu_[A-Za-z0-9_]{1,58}$`)
	numberedID = regexp.MustCompile(`^(functions\.)([A-Za-z0-9_-]+)(:\d{1,9})$`)
)

// SanitizeCallID returns what one id becomes, without regard to others; [SanitizeCallIDs]
// keeps ids of a list apart.
func SanitizeCallID(id string, mode IDMode) string {
	plain := strings.Map(alphanumeric, id)
	switch {
	case mode == IDsAsTheyAre:
		return id
	case mode == IDsNine && id == "":
		return "defaultid"
	case mode == IDsNine && len(plain) >= nineLen:
		return plain[:nineLen]
	case mode == IDsNine && plain != "":
		return idHash(plain, nineLen)
	case mode == IDsNine:
		return idHash("sanitized", nineLen)
	case id == "":
		return "defaulttoolid"
	case mode != IDsNative && numberedID.MatchString(id):
		return id
	case plain == "":
		return "sanitizedtoolid"
	default:
		return plain
	}
}

func alphanumeric(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
		return r
	}
	return -1
}

func idHash(s string, n int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:n]
}

// SanitizeCallIDs returns ms with ids of calls and results that a provider takes. Models
// use ids again: each use gets an id of its own, in order, and the results follow their
// calls. It returns ms itself when nothing changes.
func SanitizeCallIDs(ms []message.Message, mode IDMode) []message.Message {
	return newIDPass(mode).Apply(ms, Input{})
}

// An idPass is SanitizeCallIDs with a memory.
type idPass struct {
	mode     IDMode
	rewriter rewriter

	used    map[string]bool
	calls   map[string]int      // uses of a raw id by calls
	orphans map[string]int      // uses by results without a call
	pending map[string][]string // new ids whose results are to come, by raw id
}

func newIDPass(mode IDMode) *idPass {
	p := &idPass{mode: mode}
	p.rewriter.reset = func() {
		p.used, p.calls, p.orphans = map[string]bool{}, map[string]int{}, map[string]int{}
		p.pending = map[string][]string{}
	}
	return p
}

// Apply implements Pass.
func (p *idPass) Apply(ms []message.Message, in Input) []message.Message {
	out, _ := p.applyFrom(ms, in, 0)
	return out
}

func (p *idPass) applyFrom(ms []message.Message, _ Input, known int) ([]message.Message, int) {
	if p.mode == IDsAsTheyAre {
		return slices.Clip(ms), 0
	}
	return p.rewriter.run(ms, known, "", edge{}, func(_ int, m *message.Message) (message.Message, verdict) {
		if m.Role == message.RoleToolResult {
			return p.result(m)
		}
		return p.blocks(m)
	})
}

// blocks treats calls, and results that stand in the message of somebody else.
func (p *idPass) blocks(m *message.Message) (message.Message, verdict) {
	return withBlocks(m, func(b message.Block) (message.Block, bool) {
		raw := b.ID
		switch {
		case raw == "":
		case b.Type == message.BlockToolResult:
			b.ID = p.forResult(raw)
		case m.Role == message.RoleAssistant && b.IsCall():
			b.ID = p.forCall(raw)
		}
		return b, b.ID != raw
	})
}

// keyToolUseID is where older logs keep a result's id.
const keyToolUseID = "toolUseId"

func (p *idPass) result(m *message.Message) (message.Message, verdict) {
	out, second := *m, m.ExtraString(keyToolUseID)
	if m.ToolCallID != "" {
		out.ToolCallID = p.forResult(m.ToolCallID)
	}
	next := second
	switch {
	case second != "" && second == m.ToolCallID:
		next = out.ToolCallID
	case second != "":
		next = p.forResult(second)
	}
	if next != second {
		raw, err := json.Marshal(next)
		if err == nil {
			out.Extra = maps.Clone(m.Extra)
			out.Extra[keyToolUseID] = raw
		}
	}
	if out.ToolCallID == m.ToolCallID && next == second {
		return *m, kept
	}
	return out, replaced
}

// forCall gives the next use of a raw id its id.
func (p *idPass) forCall(raw string) string {
	p.calls[raw]++
	seed := raw
	if n := p.calls[raw]; n > 1 {
		seed = raw + ":" + strconv.Itoa(n)
	}
	id := p.allocate(seed, p.calls[raw] == 1)
	p.pending[raw] = append(p.pending[raw], id)
	return id
}

// forResult gives a result the id of the oldest call that waits for it.
func (p *idPass) forResult(raw string) string {
	if waiting := p.pending[raw]; len(waiting) > 0 {
		if p.pending[raw] = waiting[1:]; len(waiting) == 1 {
			delete(p.pending, raw)
		}
		return waiting[0]
	}
	p.orphans[raw]++
	n := p.orphans[raw]
	if n == 1 && p.isNative(raw) {
		return p.take(raw)
	}
	return p.take(p.unique(raw + ":tool_result:" + strconv.Itoa(n)))
}

func (p *idPass) allocate(seed string, first bool) string {
	if first && p.isNative(seed) {
		return p.take(seed)
	}
	return p.take(p.unique(seed))
}

func (p *idPass) isNative(id string) bool {
	return p.mode == IDsNative && !p.used[id] && nativeID.MatchString(id)
}

func (p *idPass) take(id string) string {
	p.used[id] = true
	return id
}

// unique returns an id for seed that is not used, as OpenClaw 2026.7.1 forms it.
func (p *idPass) unique(seed string) string {
	base := SanitizeCallID(seed, p.mode)
	if p.mode == IDsNine {
		return p.firstFree(base, func(i int) string { return idHash(seed+":"+strconv.Itoa(i), nineLen) })
	}
	if n := numberedID.FindStringSubmatch(base); n != nil {
		return p.uniqueNumbered(seed, n[1], n[2], n[3])
	}
	base = base[:min(len(base), maxIDLen)]
	hashed := base[:min(len(base), maxIDLen-idHashLen)] + idHash(seed, idHashLen)
	return p.firstFree(base, func(i int) string {
		if i == 0 {
			return hashed
		}
		suffix := "x" + strconv.Itoa(i+1)
		return hashed[:min(len(hashed), maxIDLen-len(suffix))] + suffix
	})
}

// uniqueNumbered shortens and varies the name in an id of the form functions.name:0.
func (p *idPass) uniqueNumbered(seed, start, name, end string) string {
	with := func(suffix string) string {
		room := maxIDLen - len(start) - len(suffix) - len(end)
		return start + name[:min(len(name), room)] + suffix + end
	}
	return p.firstFree(with(""), func(i int) string {
		if i == 0 {
			return with(idHash(seed, idHashLen))
		}
		return with("x" + strconv.Itoa(i+1))
	})
}

// firstFree returns id or the first of its variants that is not used.
func (p *idPass) firstFree(id string, variant func(i int) string) string {
	for i := 0; p.used[id] && i < maxIDRetries; i++ {
		id = variant(i)
	}
	return id
}
