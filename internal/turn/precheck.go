package turn

import "github.com/go-contextengine/contextengine/tokens"

// A Route is what is to be done about a request before it is sent.
type Route string

// Routes. The words are OpenClaw's, so that status records compare.
const (
	RouteFits Route = "fits"
	// RouteTruncate: cutting tool results is enough, with room to spare.
	RouteTruncate Route = "truncate_tool_results_only"
	// RouteCompact: no tool result can give anything.
	RouteCompact Route = "compact_only"
	// RouteCompactThenTruncate: tool results can give something, but not enough to
	// rely on.
	RouteCompactThenTruncate Route = "compact_then_truncate"
)

// Compacts reports whether the route needs a compaction.
func (r Route) Compacts() bool { return r == RouteCompact || r == RouteCompactThenTruncate }

// Sources of the number that decided.
const (
	SourceTranscript = "transcript_estimate"
	// SourceUnwindowed: the list before assembly, which the engine said may overflow.
	SourceUnwindowed = "unwindowed_transcript_estimate"
	// SourceEngine: the engine's own count, larger than the host's.
	SourceEngine = "engine_estimate"
)

// Of how cutting tool results is weighed against an overflow: a token is taken for
// four characters; truncation alone must free half as much again as is too much,
// and at least the slack on top (OpenClaw 2026.7.1).
const (
	charsPerToken = 4
	truncateSlack = 512 // tokens
)

// A Load is a request to be judged.
type Load struct {
	Estimated  int // the host's count of the whole request, tokens
	Engine     int // the whole by the engine's count; 0: unknown
	Unwindowed int // the whole with the list before assembly; 0: that list does not count
	// Reducible gives the characters of tool results that can go: of the list before
	// assembly where that decided. nil: none. Called only when something must go.
	Reducible func(unwindowed bool) int
}

// A Check is the outcome of a precheck with every number behind it, in tokens
// unless named otherwise.
type Check struct {
	Route           Route
	Source          string // whose number decided
	Estimated       int
	HostEstimate    int
	EngineEstimate  int // 0: unknown
	Window          int // 0: unknown; then everything fits
	PromptBudget    int // what may be sent
	Reserve         int // as asked for
	EffectReserve   int // as far as the window allows it
	Remaining       int // of the prompt budget
	Overflow        int
	ReducibleChars  int // UTF-16 units of tool results
	MessageCount    int
	UnwindowedCount int
}

// Precheck compares a request with the budget and chooses a route. An unknown
// window fits everything. The larger of the numbers decides.
func Precheck(b tokens.Budget, l Load) Check {
	c := Check{
		Route: RouteFits, Source: SourceTranscript, Estimated: l.Estimated, HostEstimate: l.Estimated,
		EngineEstimate: l.Engine, Window: b.Window, Reserve: b.Reserve,
	}
	if l.Unwindowed > c.Estimated {
		c.Estimated, c.Source = l.Unwindowed, SourceUnwindowed
	}
	if l.Engine > c.Estimated {
		c.Estimated, c.Source = l.Engine, SourceEngine
	}
	if !b.Known() {
		return c
	}
	c.PromptBudget, c.EffectReserve = b.Prompt(), b.EffectiveReserve()
	c.Overflow = b.Overflow(c.Estimated)
	c.Remaining = max(0, c.PromptBudget-c.Estimated)
	if c.Overflow == 0 {
		return c
	}
	if l.Reducible != nil {
		c.ReducibleChars = l.Reducible(c.Source == SourceUnwindowed)
	}
	c.Route = route(c.Overflow, c.ReducibleChars)
	return c
}

func route(overflow, reducible int) Route {
	chars := overflow * charsPerToken
	enough := max(chars+truncateSlack*charsPerToken, (chars*3+1)/2)
	switch {
	case reducible <= 0:
		return RouteCompact
	case reducible >= enough:
		return RouteTruncate
	}
	return RouteCompactThenTruncate
}
