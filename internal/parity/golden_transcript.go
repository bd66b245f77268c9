package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// transcriptFuncs are the recorded functions that package transcript answers for.
func transcriptFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{
		"migrateSessionEntries": goldenMigrate,
	}
}

const goldenHeader = `{"type":"session","version":3,"id":"s1","timestamp":"2026-07-01T00:00:00.000Z","cwd":"/w"}`

// inSessionFile runs f on a session file with the given lines; none make no file.
func inSessionFile(lines []string, f func(path string) (any, error)) (any, error) {
	dir, err := os.MkdirTemp("", "parity")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s.jsonl")
	if lines != nil {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			return nil, err
		}
	}
	return f(path)
}

// inSession runs f on a session of the recorded rows.
func inSession(rows []json.RawMessage, f func(log transcript.Log) (any, error)) (any, error) {
	lines := append([]string{goldenHeader}, rowLines(rows)...)
	return inSessionFile(lines, func(path string) (any, error) {
		log, err := transcript.OpenFile(path, nil)
		if err != nil {
			return nil, err
		}
		defer log.Close()
		return f(log)
	})
}

// rowLines writes recorded rows as lines; a row recorded as text is a line as it is.
func rowLines(rows []json.RawMessage) []string {
	out := make([]string, len(rows))
	for i, raw := range rows {
		var row bytes.Buffer
		if json.Unmarshal(raw, &out[i]) != nil && json.Compact(&row, raw) == nil {
			out[i] = row.String()
		}
	}
	return out
}

type contextMessage struct {
	Role message.Role `json:"role"`
	Text string       `json:"text"`
}

func contextMessages(v transcript.View) []contextMessage {
	out := make([]contextMessage, len(v.Messages))
	for i, m := range v.Messages {
		text := m.Text()
		if m.Summary != "" {
			text = m.Summary
		}
		out[i] = contextMessage{Role: m.Role, Text: text}
	}
	return out
}

func goldenSessionContext(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Entries []json.RawMessage
		LeafID  json.RawMessage
	}](in)
	if err != nil {
		return nil, err
	}
	return inSession(p.Entries, func(log transcript.Log) (any, error) {
		if err := goldenLeaf(log, p.LeafID); err != nil {
			return nil, err
		}
		return goldenView(log)
	})
}

// goldenLeaf moves to a leaf that is given as null, as an id, or not at all.
func goldenLeaf(log transcript.Log, raw json.RawMessage) error {
	var id *string
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &id); err != nil {
		return err
	}
	if id == nil {
		return log.SetLeaf(context.Background(), "")
	}
	err := log.SetLeaf(context.Background(), *id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the last row
	}
	return err
}

func goldenView(log transcript.Log) (any, error) {
	v, err := log.View(context.Background())
	if err != nil {
		return nil, err
	}
	out := map[string]any{"thinkingLevel": v.ThinkingLevel, "messages": contextMessages(v), "model": nil}
	if v.Provider != "" || v.Model != "" {
		out["model"] = map[string]string{"provider": v.Provider, "modelId": v.Model}
	}
	return out, nil
}

// goldenMigrate migrates the way a host does: by the first append, which is then left out.
func goldenMigrate(in json.RawMessage) (any, error) {
	rows, err := decodeInput[[]json.RawMessage](in)
	if err != nil {
		return nil, err
	}
	return inSessionFile(rowLines(rows), func(path string) (any, error) {
		log, err := transcript.OpenFile(path, nil)
		if err != nil {
			return nil, err
		}
		defer log.Close()
		if _, err := log.Append(context.Background(), transcript.CustomEntry("parity", nil)); err != nil {
			return nil, err
		}
		lines, err := fileLines(path)
		if err != nil {
			return nil, err
		}
		out := make([]json.RawMessage, len(lines)-1)
		for i := range out {
			out[i] = json.RawMessage(lines[i])
		}
		return out, nil
	})
}

func fileLines(path string) ([]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Split(string(raw), "\n"), func(line string) bool { return line == "" }), nil
}

// filesBeside lists the other files of the folder.
func filesBeside(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	out := []string{}
	for _, e := range entries {
		if e.Name() != filepath.Base(path) {
			out = append(out, e.Name())
		}
	}
	return out, nil
}

func goldenRepair(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct{ Lines []json.RawMessage }](in)
	if err != nil {
		return nil, err
	}
	lines := rowLines(p.Lines)
	if p.Lines == nil {
		lines = nil
	}
	return inSessionFile(lines, func(path string) (any, error) {
		report, err := transcript.Repair(context.Background(), path)
		result, warnings := repairResult(report, err, lines)
		if report.Backup != "" { // the reference removes it, we keep it
			if err := os.Remove(report.Backup); err != nil {
				return nil, err
			}
		}
		after, err := fileLines(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for i := range after {
			after[i] = recordedWords(after[i])
		}
		leftovers, err := filesBeside(path)
		if err != nil {
			return nil, err
		}
		return map[string]any{"result": result, "after": after, "warnings": warnings, "leftovers": leftovers}, nil
	})
}

// recordedWords puts the reference's words where ours stand.
func recordedWords(line string) string {
	return strings.NewReplacer(
		transcript.RepairAnswerText, "[assistant turn failed before producing content]",
		transcript.RepairInputText, "(continue)",
		transcript.RepairImageText, "[image omitted: corrupted base64 payload]",
		transcript.RepairResultText, "aborted",
	).Replace(line)
}

func repairResult(report transcript.RepairReport, failed error, lines []string) (map[string]any, []string) {
	if failed != nil {
		return repairRefused(failed, lines)
	}
	count := map[transcript.RepairKind]int{}
	for _, c := range report.Changes {
		var r *transcript.RepairedError
		if errors.As(c.Err, &r) {
			count[r.Kind]++
		}
	}
	if len(report.Changes) == 0 {
		return map[string]any{"repaired": false, "droppedLines": 0}, []string{}
	}
	return map[string]any{
		"repaired": true, "droppedLines": count[transcript.RepairDroppedLine],
		"rewrittenAssistantMessages":  count[transcript.RepairFailedAnswer],
		"droppedBlankUserMessages":    0,
		"rewrittenUserMessages":       count[transcript.RepairBlankInput],
		"removedCorruptedImageBlocks": count[transcript.RepairImage],
		"insertedToolResults":         count[transcript.RepairMissingResult],
	}, []string{}
}

// repairRefused says in the recorded form why a file is not repaired.
func repairRefused(failed error, lines []string) (map[string]any, []string) {
	rows, broken := 0, 0
	for _, line := range lines {
		switch {
		case strings.TrimSpace(line) == "":
		case json.Valid([]byte(line)):
			rows++
		default:
			broken++
		}
	}
	out := map[string]any{"repaired": false, "droppedLines": broken}
	switch {
	case errors.Is(failed, fs.ErrNotExist):
		out["reason"] = "missing session file"
	case rows == 0:
		out["reason"] = "empty session file"
	default:
		out["reason"] = "invalid session header"
		return out, []string{fmt.Sprintf("session file repair skipped: %s (s.jsonl)", out["reason"])}
	}
	return out, []string{}
}
