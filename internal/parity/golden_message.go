package main

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/go-contextengine/contextengine/message"
)

// messageFuncs are the recorded functions that package message answers for.
func messageFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{
		"isRealConversationMessage": goldenIsConversation,
	}
}

// goldenIsConversation answers for every message of the list.
func goldenIsConversation(in json.RawMessage) (any, error) {
	ms, err := decodeInput[[]message.Message](in)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(ms))
	for i := range ms {
		out[i] = message.IsConversation(ms, i)
	}
	return out, nil
}

// goldenRepairPairs reduces a repair to the list after it and the recorded counts. The
// reference calls every other list moved, and tells duplicates from orphans; both follow from
// the lists. Failed answers are kept as they are, as it does by default.
func goldenRepairPairs(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Messages []message.Message
		Options  struct{ ErroredAssistantResultPolicy, MissingToolResultText string }
	}](in)
	if err != nil {
		return nil, err
	}
	opts := &message.RepairOptions{FailedTurns: message.FailedTurnsKeep, MissingText: p.Options.MissingToolResultText}
	if p.Options.ErroredAssistantResultPolicy == "drop" {
		opts.FailedTurns = message.FailedTurnsDrop
	}
	after, repair := message.RepairPairs(p.Messages, opts)
	same := sameSlice(p.Messages, after)
	duplicates, orphans := lostResults(p.Messages, after)
	if n := duplicates + orphans; n != repair.DroppedResults && repair.DroppedTurns == 0 {
		return nil, fmt.Errorf("%d results are gone, the report says %d", n, repair.DroppedResults)
	}
	return map[string]any{
		"same": same, "moved": !same, "added": repair.AddedResults,
		"droppedDuplicateCount": duplicates, "droppedOrphanCount": orphans,
		"messages": pairedMessages(after),
	}, nil
}

// lostResults counts the results that are gone: those that repeat one of a call before them, and
// those that have no call. The first results of a call went with it when it is gone itself.
func lostResults(before, after []message.Message) (duplicates, orphans int) {
	has, kept := callIDs(after), map[string]int{}
	for _, m := range after {
		if m.Role == message.RoleToolResult && !message.IsMissingResult(m) {
			kept[resultName(&m)]++
		}
	}
	called, latest, went := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range before {
		m := &before[i]
		if ids := callIDs(before[i : i+1]); len(ids) > 0 {
			latest, went = ids, map[string]bool{}
			maps.Copy(called, ids)
		}
		switch id, name := m.ToolCallID, resultName(m); {
		case m.Role != message.RoleToolResult:
		case kept[name] > 0:
			kept[name]--
		case called[id] && has[id], latest[id] && went[id]:
			duplicates++
		case latest[id]:
			went[id] = true
		default:
			orphans++
		}
	}
	return duplicates, orphans
}

// resultName tells results apart by their times, which recordings make unique.
func resultName(m *message.Message) string {
	if m.Timestamp.IsZero() {
		return m.ToolCallID
	}
	return m.Timestamp.String()
}

func callIDs(ms []message.Message) map[string]bool {
	ids := map[string]bool{}
	for _, m := range ms {
		for call := range m.ToolCalls() {
			ids[call.ID] = true
		}
	}
	return ids
}

// pairedMessages writes roles and times, of results also what pairs them.
func pairedMessages(ms []message.Message) []any {
	out := make([]any, len(ms))
	for i, m := range ms {
		o := map[string]any{"role": m.Role, "ts": m.Timestamp.UnixMilli()}
		if m.Role == message.RoleToolResult {
			o["id"], o["name"], o["isError"], o["text"] = m.ToolCallID, m.ToolName, m.IsError, m.Text()
			if message.IsMissingResult(m) {
				o["synthetic"], o["ts"] = true, "<now>"
			}
		}
		out[i] = o
	}
	return out
}
