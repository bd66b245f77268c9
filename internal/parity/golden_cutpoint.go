package main

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// cutInput is what the cut-point functions take.
type cutInput struct {
	Entries          []cutRow
	KeepRecentTokens float64
}

// keep is the tail in whole tokens.
func (c cutInput) keep() int { return int(math.Ceil(c.KeepRecentTokens)) }

// A cutRow is a stored row; some have no id, which no log would accept.
type cutRow struct{ transcript.Entry }

// UnmarshalJSON reads the fields that the cut depends on.
func (r *cutRow) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &r.Extra); err != nil {
		return err
	}
	var row struct {
		Type, ID, ParentID, Summary, FromID, FirstKeptEntryID string
		Timestamp                                             string
		TokensBefore                                          float64
		Details, Message                                      json.RawMessage
	}
	if err := json.Unmarshal(raw, &row); err != nil {
		return err
	}
	r.Type, r.ID, r.ParentID = transcript.EntryType(row.Type), row.ID, row.ParentID
	if at, err := time.Parse(time.RFC3339, row.Timestamp); err == nil {
		r.Timestamp = at
	}
	switch r.Type {
	case transcript.EntryMessage:
		r.Message = new(message.Message)
		return json.Unmarshal(row.Message, r.Message)
	case transcript.EntryBranchSummary:
		r.Entry.Summary = &transcript.BranchSummary{FromID: row.FromID, Summary: row.Summary}
	case transcript.EntryCompaction:
		r.Compaction = &transcript.Compaction{
			Summary: row.Summary, FirstKeptEntryID: row.FirstKeptEntryID,
			TokensBefore: int(row.TokensBefore), Details: row.Details,
		}
	}
	return nil
}

func (c cutInput) rows() []transcript.Entry {
	out := make([]transcript.Entry, len(c.Entries))
	for i, r := range c.Entries {
		out[i] = r.Entry
	}
	return out
}

func goldenFindCutPoint(in json.RawMessage) (any, error) {
	p, err := decodeInput[cutInput](in)
	if err != nil {
		return nil, err
	}
	c := compact.FindCutPoint(p.rows(), p.keep(), tokens.Compat())
	return map[string]any{
		"firstKeptEntryIndex": c.FirstKept, "turnStartIndex": c.TurnStart, "isSplitTurn": c.Split(),
	}, nil
}

func goldenPrepare(in json.RawMessage) (any, error) {
	p, err := decodeInput[cutInput](in)
	if err != nil {
		return nil, err
	}
	prep, ok, err := compact.Prepare(p.rows(), p.keep())
	switch {
	case errors.Is(err, compact.ErrInvalidSession):
		return map[string]any{
			"error": "invalid_session", "message": "First kept entry has no UUID - session may need migration",
		}, nil
	case err != nil || !ok:
		return nil, err
	}
	out := map[string]any{
		"firstKeptEntryId": prep.FirstKeptEntryID, "messagesToSummarize": timestamps(prep.Summarise),
		"turnPrefixMessages": timestamps(prep.TurnPrefix), "isSplitTurn": prep.Split,
		"tokensBefore": prep.TokensBefore,
		"fileOps": map[string]any{
			"read": orNone(prep.Files.Read), "written": orNone(prep.Files.Written), "edited": orNone(prep.Files.Edited),
		},
	}
	if prep.Previous != "" {
		out["previousSummary"] = prep.Previous
	}
	return out, nil
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
