package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

const (
	keptShare  = 3   // a third of the budget stays as it was said
	askedRunes = 100 // of each request that a digest lists
	mostAsked  = 12  // requests in a digest, the newest
)

// A digest is a small Compactor without a model: it keeps the newest messages and
// replaces the others by a list of what the users asked for.
type digest struct {
	store transcript.Store
	count tokens.Estimator
}

var _ ce.Compactor = digest{}

// CompactSession implements ce.Compactor.
func (d digest) CompactSession(ctx context.Context, p ce.CompactParams) (res ce.CompactResult, err error) {
	log, err := d.store.Open(ctx, p.SessionID)
	if err != nil {
		return ce.CompactResult{}, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	view, err := log.View(ctx)
	if err != nil {
		return ce.CompactResult{}, err
	}
	before := tokens.Messages(d.count, view.Messages)
	keep, cost := newest(view.Messages, p.TokenBudget/keptShare, d.count)
	summary := summarise(view.Messages[:keep])
	after := cost + d.count.Message(message.CompactionSummary(summary, before, time.Time{}))
	if keep == 0 || after >= before {
		return ce.CompactResult{
			OK: true, Reason: ce.ReasonNothingToCompact,
			Result: &ce.CompactDetails{TokensBefore: before, TokensAfter: &before},
		}, nil
	}
	c := transcript.Compaction{Summary: summary, TokensBefore: before}
	if keep < len(view.Messages) {
		c.FirstKeptEntryID = view.Messages[keep].Key
	}
	_, err = log.CommitCompaction(ctx, view.Generation, c)
	if errors.Is(err, transcript.ErrSuperseded) {
		return ce.CompactResult{Reason: ce.ReasonSuperseded}, nil
	}
	if err != nil {
		return ce.CompactResult{}, err
	}
	return ce.CompactResult{
		OK: true, Compacted: true, Reason: ce.ReasonCompacted,
		Result: &ce.CompactDetails{
			Summary: summary, FirstKeptEntryID: c.FirstKeptEntryID, TokensBefore: before, TokensAfter: &after,
		},
	}, nil
}

// summarise lists what was asked, behind the summary of what had been compacted before.
func summarise(ms []message.Message) string {
	var parts, asked []string
	for _, m := range ms {
		switch m.Role {
		case message.RoleCompactionSummary:
			parts = append(parts, m.Summary)
		case message.RoleUser:
			if line := firstLine(m.Text()); line != "" {
				asked = append(asked, "- "+line)
			}
		}
	}
	if n := len(asked) - mostAsked; n > 0 {
		asked = append([]string{fmt.Sprintf("- (and %d requests before)", n)}, asked[n:]...)
	}
	if len(asked) > 0 {
		parts = append(parts, "Asked since:\n"+strings.Join(asked, "\n"))
	}
	return strings.Join(parts, "\n\n")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if runes := []rune(line); len(runes) > askedRunes {
		return string(runes[:askedRunes]) + "…"
	}
	return line
}
