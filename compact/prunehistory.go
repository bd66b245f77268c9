package compact

import (
	"slices"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// A PrunedHistory is what PruneHistoryShare kept and dropped.
type PrunedHistory struct {
	// Messages is what is left, repaired: every call has a result. DroppedList is what
	// went, oldest first, without results that lost their call.
	Messages, DroppedList []message.Message
	// Chunks counts the rounds, Dropped the messages that went, those results included.
	Chunks, Dropped int
	// DroppedTokens counts DroppedList, Kept counts Messages, Budget is what was allowed.
	DroppedTokens, Kept, Budget int
}

// PruneHistoryShare drops the oldest runs of a list until it costs no more than a share
// of the window, as OpenClaw 2026.7.1 does. A run is one of parts of what is left, two
// when parts is zero; a single message is never dropped.
func PruneHistoryShare(ms []message.Message, window int, share float64, parts int, e tokens.Estimator) PrunedHistory {
	if parts == 0 {
		parts = defaultParts
	}
	parts = Parts(parts, len(ms))
	p := PrunedHistory{Messages: ms, Budget: max(1, int(float64(window)*share))}
	for planningTotal(e, p.Messages) > p.Budget {
		runs := SplitByTokenShare(p.Messages, parts, e)
		if len(runs) < 2 {
			break
		}
		rest, repair := message.RepairPairs(slices.Concat(runs[1:]...), &message.RepairOptions{
			FailedTurns: message.FailedTurnsKeep,
		})
		p.Chunks++
		p.Dropped += len(runs[0]) + repair.DroppedResults
		p.DroppedTokens += planningTotal(e, runs[0])
		p.DroppedList = append(p.DroppedList, runs[0]...)
		p.Messages = rest
	}
	p.Kept = planningTotal(e, p.Messages)
	return p
}

// A HistoryPrune says how much of a history new content leaves room for.
type HistoryPrune struct {
	// Source is the history's size, New that of what comes on top, Limit what New may
	// take before the history is pruned. Tokens.
	Source, New, Limit int
	// Pruned is the history without its oldest part; nil: it stays.
	Pruned *PrunedHistory
}

// HistoryPruneParams are the input of PlanHistoryPrune.
type HistoryPruneParams struct {
	// History is to be summarised, TurnPrefix with it. Both are only read.
	History, TurnPrefix []message.Message
	// TokensBefore is the size of the whole context, Window the model's, in tokens.
	TokensBefore, Window int
	// Share of the window that the history may take, from 0 to 1.
	Share     float64
	Estimator tokens.Estimator
}

// PlanHistoryPrune decides, as OpenClaw 2026.7.1 does, whether new content is so large
// that the history to summarise must give way.
func PlanHistoryPrune(p HistoryPruneParams) HistoryPrune {
	h := HistoryPrune{Source: planningTotal(p.Estimator, p.History) + planningTotal(p.Estimator, p.TurnPrefix)}
	h.New = max(0, p.TokensBefore-h.Source)
	h.Limit = int(float64(p.Window) * p.Share * safetyMargin)
	if h.New > h.Limit {
		pruned := PruneHistoryShare(p.History, p.Window, p.Share, defaultParts, p.Estimator)
		h.Pruned = &pruned
	}
	return h
}
