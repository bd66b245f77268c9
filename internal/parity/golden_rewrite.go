package main

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

type appendedRow struct {
	Type             transcript.EntryType `json:"type"`
	ID               string               `json:"id"`
	ParentID         *string              `json:"parentId"`
	Role             message.Role         `json:"role,omitempty"`
	Text             *string              `json:"text,omitempty"`
	TargetID         string               `json:"targetId,omitempty"`
	FirstKeptEntryID string               `json:"firstKeptEntryId,omitempty"`
	FromID           string               `json:"fromId,omitempty"`
}

func goldenRewrite(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Entries      []json.RawMessage
		Replacements []struct {
			EntryID string
			Message message.Message
		}
		Allowed []string
	}](in)
	if err != nil {
		return nil, err
	}
	return inSession(p.Entries, func(log transcript.Log) (any, error) {
		v, err := log.View(context.Background())
		if err != nil {
			return nil, err
		}
		req := transcript.RewriteRequest{AllowedSuffixEntryIDs: p.Allowed, Generation: v.Generation}
		for _, r := range p.Replacements {
			req.Replacements = append(req.Replacements, transcript.Replacement{EntryID: r.EntryID, Message: r.Message})
		}
		before, err := collect(log.Entries(context.Background()))
		if err != nil {
			return nil, err
		}
		result, err := log.Rewrite(context.Background(), req)
		if err != nil {
			return nil, err
		}
		return rewriteOutcome(log, result, len(before))
	})
}

func rewriteOutcome(log transcript.Log, r transcript.RewriteResult, before int) (any, error) {
	all, err := collect(log.Entries(context.Background()))
	if err != nil {
		return nil, err
	}
	branch, err := collect(log.Branch(context.Background()))
	if err != nil {
		return nil, err
	}
	appended := []appendedRow{}
	for _, e := range all[before:] {
		if e.Type != transcript.EntryLeaf {
			appended = append(appended, reduceRow(e))
		}
	}
	ids := []string{}
	for _, e := range branch {
		ids = append(ids, e.ID)
	}
	// Where the leaf is, the reference keeps beside its entries.
	all = slices.DeleteFunc(all, func(e transcript.Entry) bool { return e.Type == transcript.EntryLeaf })
	out := map[string]any{
		"changed": r.Changed, "bytesFreed": r.BytesFreed, "rewrittenEntries": r.RewrittenEntries,
		"appended": appended, "totalEntries": len(all), "branchIds": ids, "leaf": nil,
	}
	if len(ids) > 0 {
		out["leaf"] = ids[len(ids)-1]
	}
	if r.Reason != "" {
		out["reason"] = r.Reason
	}
	return out, nil
}

func reduceRow(e transcript.Entry) appendedRow {
	row := appendedRow{Type: e.Type, ID: e.ID, TargetID: e.Field("targetId")}
	if e.ParentID != "" {
		row.ParentID = &e.ParentID
	}
	switch {
	case e.Message != nil:
		text := e.Message.Text()
		row.Role, row.Text = e.Message.Role, &text
	case e.Compaction != nil:
		row.FirstKeptEntryID = e.Compaction.FirstKeptEntryID
	case e.Summary != nil:
		row.FromID = e.Summary.FromID
	}
	return row
}

// collect gathers entries up to the first error.
func collect(seq func(func(transcript.Entry, error) bool)) ([]transcript.Entry, error) {
	var out []transcript.Entry
	for e, err := range seq {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return slices.Clip(out), nil
}
