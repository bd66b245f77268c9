package main

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
)

// pruneFuncs are the recorded functions that package prune answers for.
func pruneFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{
		"computeEffectiveSettings":  goldenTTLSettings,
		"makeToolPrunablePredicate": goldenToolMatch,

		"limitHistoryTurns":             goldenHistoryLimit,
		"getHistoryLimitFromSessionKey": goldenLimitFor,

		"truncateToolResultText":                 goldenTruncateText,
		"hasImportantTail":                       goldenImportantTail,
		"estimateToolResultReductionPotential":   goldenReduction,
		"truncateOversizedToolResultsInMessages": goldenShorten,

		"repairToolCallInputs":                           goldenRepairCalls,
		"validateAnthropicTurns":                         goldenTurns(prune.AlternateTurns),
		"validateGeminiTurns":                            goldenTurns(prune.MergeAssistants),
		"normalizeAssistantReplayContent":                goldenReplay,
		"sanitizeSessionMessagesImages":                  goldenContent,
		"stripStaleAssistantUsageBeforeLatestCompaction": goldenStaleUsage,
	}
}

// readCacheTTL is goldenCacheTTL with one difference that we want: a round after which the list
// would be longer.
func readCacheTTL(in json.RawMessage, want any) (any, any, error) {
	got, err := goldenCacheTTL(in)
	ours, ok := got.(map[string]any)
	theirs, known := want.(map[string]any)
	if err == nil && ok && known && ours["same"] == true && theirs["same"] == false &&
		countIn(theirs["charsAfter"]) > countIn(theirs["charsBefore"]) {
		return nil, nil, skipBy("no gain")
	}
	return got, want, err
}

// goldenCacheTTL lets a lifetime pass, so that the rules alone decide.
func goldenCacheTTL(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Messages                      []message.Message
		Window                        int
		Settings                      map[string]any
		DropThinkingBlocksForEstimate bool
	}](in)
	if err != nil {
		return nil, err
	}
	settings := map[string]any{"mode": "cache-ttl"}
	maps.Copy(settings, p.Settings)
	opts, _, err := readTTL(settings)
	if err != nil {
		return nil, err
	}
	opts.MinPrunable = 4 * opts.Effective().MinPrunable // compared with characters, not tokens
	opts.ThinkingDropped = p.DropThinkingBlocksForEstimate
	start := time.UnixMilli(1_000_000)
	req := prune.Input{Window: 4 * p.Window, Estimator: charEstimator{}, Now: start}
	pass := prune.CacheTTL(&opts)
	pass.Apply(nil, req)
	pass.Observe(message.Usage{}, start)
	req.Now = start.Add(24 * time.Hour)
	out := pass.Apply(p.Messages, req)
	changed := []any{}
	for i := range out {
		if !message.Equal(out[i], p.Messages[i]) {
			changed = append(changed, map[string]any{"i": i, "content": theirBlocks(out[i].Content)})
		}
	}
	return map[string]any{
		"same": sameSlice(p.Messages, out), "changed": changed,
		"charsBefore": tokens.Messages(charEstimator{}, p.Messages), "charsAfter": tokens.Messages(charEstimator{}, out),
	}, nil
}

func readTTL(settings any) (prune.CacheTTLOptions, bool, error) {
	raw, err := json.Marshal(settings)
	if err != nil {
		return prune.CacheTTLOptions{}, false, err
	}
	return prune.ParseCacheTTL(raw)
}

func goldenTTLSettings(in json.RawMessage) (any, error) {
	opts, on, err := prune.ParseCacheTTL(in)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && wrong.Field != "" {
		return nil, skipBy("type of a setting")
	}
	if err != nil || !on {
		return nil, err
	}
	o := opts.Effective()
	placeholder := o.Placeholder
	if placeholder == "" {
		placeholder = theirWords(prune.ClearedText)
	}
	tools := map[string]any{}
	if o.Allow != nil {
		tools["allow"] = o.Allow
	}
	if o.Deny != nil {
		tools["deny"] = o.Deny
	}
	return map[string]any{
		"mode": "cache-ttl", "ttlMs": max(0, o.TTL.Milliseconds()), "tools": tools,
		"keepLastAssistants": max(0, o.KeepAssistants), "minPrunableToolChars": max(0, o.MinPrunable),
		"softTrimRatio": max(0, o.SoftRatio), "hardClearRatio": max(0, o.HardRatio),
		"softTrim": map[string]any{
			"maxChars": max(0, o.SoftTrim.Max), "headChars": max(0, o.SoftTrim.Head), "tailChars": max(0, o.SoftTrim.Tail),
		},
		"hardClear": map[string]any{"enabled": !o.NoHardClear, "placeholder": placeholder},
	}, nil
}

func goldenToolMatch(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Match struct{ Allow, Deny []string }
		Names []string
	}](in)
	if err != nil {
		return nil, err
	}
	opts := prune.CacheTTLOptions{Allow: p.Match.Allow, Deny: p.Match.Deny}
	return pairs(p.Names, opts.Matches), nil
}

func pairs[A, B any](in []A, f func(A) B) []any {
	out := make([]any, len(in))
	for i, a := range in {
		out[i] = []any{a, f(a)}
	}
	return out
}

func goldenHistoryLimit(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Messages []message.Message
		Limit    float64
	}](in)
	if err != nil {
		return nil, err
	}
	out := prune.HistoryLimit(int(p.Limit)).Apply(p.Messages, prune.Input{})
	return map[string]any{"same": sameSlice(p.Messages, out), "ids": timestamps(out)}, nil
}

func goldenLimitFor(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Key    string
		Config struct{ Channels prune.HistoryLimits }
	}](in)
	if err != nil {
		return nil, err
	}
	if turns, ok := p.Config.Channels.For(p.Key); ok {
		return turns, nil
	}
	return nil, nil
}

func goldenTruncateText(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Text     string
		MaxChars int
	}](in)
	if err != nil {
		return nil, err
	}
	text := prune.Truncate(p.Text, p.MaxChars, "")
	return map[string]any{"text": theirWords(text), "length": utf16Length(text)}, nil
}

func goldenImportantTail(in json.RawMessage) (any, error) {
	texts, err := decodeInput[[]string](in)
	return pairs(texts, prune.HasImportantTail), err
}

// readCapResult is goldenCapResult with one difference that we want: texts that are longer than
// the limit when each keeps its least.
func readCapResult(in json.RawMessage, want any) (any, any, error) {
	got, err := goldenCapResult(in)
	if err != nil || compareGolden(mustJSON(want), mustJSON(got), nil) == "" {
		return got, want, err
	}
	p, err := decodeInput[struct{ Max int }](in)
	if err != nil {
		return nil, nil, err
	}
	if total(want) > p.Max && total(got) <= p.Max {
		return nil, nil, skipBy("texts within the limit")
	}
	return got, want, nil
}

// total adds up the lengths of a reduced result.
func total(v any) int {
	r, err := decodeInput[struct{ Lengths []*int }](mustJSON(v))
	n := 0
	for _, l := range r.Lengths {
		if err == nil && l != nil {
			n += *l
		}
	}
	return n
}

func goldenCapResult(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Msg message.Message
		Max int
	}](in)
	if err != nil {
		return nil, err
	}
	out := prune.CapResult(p.Msg, p.Max)
	lengths, tails := []any{}, []any{}
	for _, b := range out.Content {
		if b.Type != message.BlockText {
			lengths, tails = append(lengths, nil), append(tails, nil)
			continue
		}
		lengths, tails = append(lengths, utf16Length(b.Text)), append(tails, lastUnits(theirWords(b.Text), 80))
	}
	return map[string]any{"lengths": lengths, "tails": tails}, nil
}

// shortenInput are the parameters of the functions that look at all results of a list.
type shortenInput struct {
	Messages                                    []message.Message
	ContextWindowTokens, Window                 int
	MaxCharsOverride, AggregateMaxCharsOverride int
}

func (p shortenInput) run() ([]message.Message, prune.Reduction) {
	in := prune.Input{Window: max(p.ContextWindowTokens, p.Window)}
	opts := &prune.ToolResultOptions{MaxChars: p.MaxCharsOverride, AggregateChars: p.AggregateMaxCharsOverride}
	if p.MaxCharsOverride > 0 { // holds whatever the window
		opts.AggregateChars = max(4*p.MaxCharsOverride, 2*in.Window)
		if p.AggregateMaxCharsOverride > 0 {
			opts.AggregateChars = p.AggregateMaxCharsOverride
		}
		in.Window = 0
	}
	return prune.Shorten(p.Messages, in, opts)
}

func goldenReduction(in json.RawMessage) (any, error) {
	p, err := decodeInput[shortenInput](in)
	if err != nil {
		return nil, err
	}
	_, r := p.run()
	return map[string]any{
		"maxChars": r.MaxChars, "aggregateBudgetChars": r.AggregateChars,
		"toolResultCount": r.Results, "totalToolResultChars": r.TotalChars,
		"oversizedCount": r.Oversized, "oversizedReducibleChars": r.OversizedChars,
		"aggregateReducibleChars": r.AggregateReducible, "maxReducibleChars": r.Reducible(),
	}, nil
}

func goldenShorten(in json.RawMessage) (any, error) {
	p, err := decodeInput[shortenInput](in)
	if err != nil {
		return nil, err
	}
	out, r := p.run()
	truncated, lengths, last := 0, []any{}, []any{}
	for i := range out {
		if !message.Equal(out[i], p.Messages[i]) {
			truncated++
		}
		if out[i].Role == message.RoleToolResult {
			lengths = append(lengths, utf16Length(out[i].Text()))
			last = append(last, lastUnits(theirWords(out[i].Text()), 60))
		}
	}
	return map[string]any{
		"same": sameSlice(p.Messages, out), "truncatedCount": truncated, "aggregateTruncatedCount": r.Shortened,
		"aggregatePressureEngaged": r.Exceeded, "aggregateBudgetChars": r.AggregateChars,
		"lengths": lengths, "last60": last,
	}, nil
}

func goldenRepairCalls(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Messages []message.Message
		Options  struct{ AllowedToolNames []string }
	}](in)
	if err != nil {
		return nil, err
	}
	out, r := prune.RepairCalls(p.Messages, p.Options.AllowedToolNames)
	return map[string]any{
		"same": sameSlice(p.Messages, out), "messages": theirList(out),
		"droppedToolCalls": r.DroppedCalls, "droppedAssistantMessages": r.DroppedMessages,
	}, nil
}

func goldenTurns(f func([]message.Message) []message.Message) goldenFunc {
	return func(in json.RawMessage) (any, error) {
		ms, err := decodeInput[[]message.Message](in)
		if err != nil {
			return nil, err
		}
		return theirList(f(ms)), nil
	}
}

func goldenReplay(in json.RawMessage) (any, error) {
	ms, err := decodeInput[[]message.Message](in)
	if err != nil {
		return nil, err
	}
	out := prune.CleanReplay(ms)
	return map[string]any{"same": sameSlice(ms, out) && !hasBareAnswers(ms), "messages": theirList(withBlocks(out))}, nil
}

// withBlocks writes the content of assistants as blocks: the reference turns a bare string
// into them, which we do when decoding.
func withBlocks(ms []message.Message) []message.Message {
	out := make([]message.Message, len(ms))
	for i, m := range ms {
		if m.Role == message.RoleAssistant && len(m.Extra["content"]) > 0 {
			m = m.WithExtra("content", nil)
		}
		out[i] = m
	}
	return out
}

func hasBareAnswers(ms []message.Message) bool {
	return slices.ContainsFunc(ms, func(m message.Message) bool {
		return m.Role == message.RoleAssistant && len(m.Extra["content"]) > 0
	})
}

func idMode(mode string) prune.IDMode {
	if mode == "" {
		return prune.IDsStrict
	}
	return prune.IDMode(mode)
}

func goldenContent(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct{ Messages []message.Message }](in)
	if err != nil {
		return nil, err
	}
	return theirList(prune.CleanContent(p.Messages)), nil
}

// goldenStaleUsage reduces a list to the totals of its answers; what is unknown to us is 0
// there.
func goldenStaleUsage(in json.RawMessage) (any, error) {
	ms, err := decodeInput[[]message.Message](in)
	if err != nil {
		return nil, err
	}
	out := []any{}
	for _, m := range prune.ForgetStaleUsage(ms) {
		if m.Role != message.RoleAssistant {
			continue
		}
		total := 0
		if m.Usage != nil {
			total = m.Usage.Total
		}
		out = append(out, total)
	}
	return out, nil
}
