package main

import (
	"encoding/json"
	"regexp"

	"github.com/go-contextengine/contextengine/compact"
)

// summaryFuncs are the recorded functions around the text of a summary.
func summaryFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{
		"auditSummaryQuality": goldenAudit,
	}
}

func goldenAudit(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Summary, LatestAsk string
		Identifiers        []string
		IdentifierPolicy   compact.IdentifierPolicy
	}](in)
	if err != nil {
		return nil, err
	}
	missing := compact.AuditSummary(compact.AuditInput{
		Summary: p.Summary, Identifiers: p.Identifiers, LatestAsk: p.LatestAsk, Policy: p.IdentifierPolicy,
	})
	return map[string]any{"ok": len(missing) == 0, "reasons": append([]string{}, missing...)}, nil
}

var hexadecimal = regexp.MustCompile(`^[0-9A-Fa-f]{8,}$`)
