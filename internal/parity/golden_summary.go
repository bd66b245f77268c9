package main

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/go-contextengine/contextengine/compact"
	"github.com/go-contextengine/contextengine/message"
)

// summaryFuncs are the recorded functions around the text of a summary.
func summaryFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{
		"auditSummaryQuality":      goldenAudit,
		"extractOpaqueIdentifiers": goldenIdentifiers,
		"serializeConversation":    goldenRenderSource,
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

// goldenIdentifiers lists identifiers; the reference writes hashes in capitals and stops
// after twelve.
func goldenIdentifiers(in json.RawMessage) (any, error) {
	text, err := decodeInput[string](in)
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, id := range compact.ExtractIdentifiers(text) {
		if hexadecimal.MatchString(id) {
			id = strings.ToUpper(id)
		}
		out = append(out, id)
	}
	return out[:min(len(out), 12)], nil
}

var hexadecimal = regexp.MustCompile(`^[0-9A-Fa-f]{8,}$`)

func goldenRenderSource(in json.RawMessage) (any, error) {
	ms, err := decodeInput[[]message.Message](in)
	if err != nil {
		return nil, err
	}
	return compact.RenderSource(ms), nil
}
