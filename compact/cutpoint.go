package compact

import (
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// A CutPoint is where OpenClaw would cut a branch.
type CutPoint struct {
	// FirstKept is the index of the first row that is kept.
	FirstKept int
	// TurnStart is the index of the row that began the turn which the cut parts; -1: the
	// cut is between two turns.
	TurnStart int
}

// Split reports whether the cut parts a turn.
func (c CutPoint) Split() bool { return c.TurnStart >= 0 }

// FindCutPoint cuts the rows of a branch as OpenClaw 2026.7.1 does, for hosts that share
// its sessions and want the same boundary. keepRecent is in tokens; e counts, and is
// [tokens.Compat] for the same numbers.
//
// It differs from [MakePlan] on purpose: the kept tail reaches the budget instead of
// staying within it, rows of extensions cost nothing, and rows that only set a state pull
// the cut back, which may part a turn that was whole.
func FindCutPoint(rows []transcript.Entry, keepRecent int, e tokens.Estimator) CutPoint {
	cut, ok := rawCut(rows, keepRecent, e)
	if !ok {
		return CutPoint{TurnStart: -1}
	}
	for cut > 0 && rows[cut-1].Type != transcript.EntryMessage && rows[cut-1].Type != transcript.EntryCompaction {
		cut--
	}
	c := CutPoint{FirstKept: cut, TurnStart: -1}
	if roleOf(&rows[cut]) == message.RoleUser {
		return c
	}
	for i := cut; i >= 0; i-- {
		if rowStartsTurn(&rows[i]) {
			c.TurnStart = i
			break
		}
	}
	return c
}

// rawCut is the cut before rows without a message are considered; false: there is none.
func rawCut(rows []transcript.Entry, keepRecent int, e tokens.Estimator) (int, bool) {
	first, last, next := -1, -1, -1 // the first and last possible cut; the one behind the walk
	sum := 0
	reached := false
	for i := len(rows) - 1; i >= 0 && !reached; i-- {
		if isCut(&rows[i]) {
			first, next = i, i
			if last < 0 {
				last = i
			}
		}
		if rows[i].Type == transcript.EntryMessage && rows[i].Message != nil {
			sum += e.Message(*rows[i].Message)
			reached = sum >= keepRecent
		}
	}
	if reached && next >= 0 {
		return next, true
	}
	if reached { // nothing behind the walk: the last one before it
		for i := len(rows) - 1; i >= 0; i-- {
			if isCut(&rows[i]) {
				return i, true
			}
		}
		return 0, false
	}
	return first, first >= 0
}

// isCut reports whether OpenClaw may cut before a row.
func isCut(r *transcript.Entry) bool {
	switch r.Type {
	case transcript.EntryBranchSummary, transcript.EntryCustomMessage:
		return true
	case transcript.EntryMessage:
		switch roleOf(r) {
		case message.RoleUser, message.RoleAssistant, message.RoleCustom, message.RoleBashExecution,
			message.RoleBranchSummary, message.RoleCompactionSummary:
			return true
		}
	}
	return false
}

func rowStartsTurn(r *transcript.Entry) bool {
	switch r.Type {
	case transcript.EntryBranchSummary, transcript.EntryCustomMessage:
		return true
	}
	return roleOf(r) == message.RoleUser || roleOf(r) == message.RoleBashExecution
}

// roleOf is "" for a row without a message.
func roleOf(r *transcript.Entry) message.Role {
	if r.Type != transcript.EntryMessage || r.Message == nil {
		return ""
	}
	return r.Message.Role
}
