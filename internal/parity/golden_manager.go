package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// manager plays the recorded operations on a log.
type manager struct {
	log    transcript.Log
	dir    string
	ids    []string // of the entries made here, in order
	mended string   // id of the row whose append brought the file up to date
}

func goldenSessionManager(in json.RawMessage) (any, error) {
	p, err := decodeInput[struct {
		Lines []json.RawMessage
		Ops   [][]json.RawMessage
	}](in)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "parity")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	log, err := openManaged(dir, rowLines(p.Lines), p.Lines != nil)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	m := &manager{log: log, dir: dir}
	if err := m.mend(); err != nil {
		return nil, err
	}
	played := [][]any{}
	for _, op := range p.Ops {
		name, result, err := m.play(op)
		if err != nil {
			return nil, err
		}
		played = append(played, []any{name, result})
	}
	return m.outcome(played)
}

// openManaged opens the given file, or makes a session that writes nothing before an answer, as
// the reference does.
func openManaged(dir string, lines []string, given bool) (transcript.Log, error) {
	if !given {
		st, err := transcript.OpenDir(dir, &transcript.DirOptions{Lazy: true})
		if err != nil {
			return nil, err
		}
		return st.Create(context.Background(), transcript.Header{ID: "s1", Cwd: "/w"})
	}
	path := filepath.Join(dir, "s.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	return transcript.OpenFile(path, nil)
}

// mend brings a file that is old or lacks its header up to date. The reference does it when it
// opens the file; here opening never writes, so that a row has to be appended.
func (m *manager) mend() error {
	needed := m.log.Header().Version < 3
	for _, p := range m.log.Problems() {
		needed = needed || strings.Contains(p.Error(), "header is missing")
	}
	if !needed {
		return nil
	}
	e := transcript.CustomEntry("parity", nil)
	e.Side = true
	out, err := m.log.Append(context.Background(), e)
	if err != nil {
		return err
	}
	m.mended = out[0].ID
	return nil
}

// play runs one operation and returns its name and what it gave.
func (m *manager) play(op []json.RawMessage) (string, any, error) {
	var name string
	if err := json.Unmarshal(op[0], &name); err != nil {
		return "", nil, err
	}
	args := op[1:]
	text := func(i int) string {
		var s string
		if i < len(args) {
			_ = json.Unmarshal(args[i], &s) // null and absent are ""
		}
		return m.resolve(s)
	}
	ctx := context.Background()
	switch name {
	case "branch":
		return m.moved(name, m.log.SetLeaf(ctx, text(0)))
	case "resetLeaf":
		return m.moved(name, m.log.SetLeaf(ctx, ""))
	case "branchWithSummary":
		if err := m.log.SetLeaf(ctx, text(0)); err != nil {
			return m.moved(name, err)
		}
		from := text(0)
		if from == "" {
			from = "root"
		}
		return m.appended(name, transcript.BranchSummaryEntry(from, text(1)))
	case "getLeafId", "getSessionName", "getLabel":
		v, err := m.told(name, text(0))
		return name, v, err
	}
	e, err := managedEntry(name, args, text)
	if err != nil {
		return name, nil, err
	}
	return m.appended(name, e)
}

// told answers a question about the session; nil stands for what was never set.
func (m *manager) told(name, id string) (any, error) {
	if name == "getLeafId" {
		branch, err := collect(m.log.Branch(context.Background()))
		if err != nil || len(branch) == 0 {
			return nil, err
		}
		return branch[len(branch)-1].ID, nil
	}
	all, err := collect(m.log.Entries(context.Background()))
	if err != nil {
		return nil, err
	}
	var found any
	for _, e := range all {
		text := ""
		switch {
		case name == "getSessionName" && e.Type == transcript.EntrySessionInfo:
			text = strings.TrimSpace(e.Field("name"))
		case name == "getLabel" && e.Type == transcript.EntryLabel && e.Field("targetId") == id:
			text = e.Field("label")
		default:
			continue
		}
		if found = any(text); text == "" {
			found = nil
		}
	}
	return found, nil
}

func managedEntry(name string, args []json.RawMessage, text func(int) string) (transcript.Entry, error) {
	switch name {
	case "appendMessage":
		var msg message.Message
		err := json.Unmarshal(args[0], &msg)
		return transcript.MessageEntry(msg), err
	case "appendModelChange":
		return transcript.ModelChangeEntry(text(0), text(1)), nil
	case "appendThinkingLevelChange":
		return transcript.ThinkingLevelEntry(text(0)), nil
	case "appendLabelChange":
		return transcript.LabelEntry(text(0), text(1)), nil
	case "appendSessionInfo":
		return transcript.Entry{Type: transcript.EntrySessionInfo, Extra: map[string]json.RawMessage{"name": args[0]}}, nil
	case "appendCustomEntry":
		return customEntry(transcript.EntryCustom, args, "customType", "data"), nil
	case "appendCustomMessageEntry":
		return customEntry(transcript.EntryCustomMessage, args, "customType", "content", "display", "details"), nil
	case "appendCompaction":
		c := transcript.Compaction{Summary: text(0), FirstKeptEntryID: text(1)}
		if len(args) > 2 {
			if err := json.Unmarshal(args[2], &c.TokensBefore); err != nil {
				return transcript.Entry{}, err
			}
		}
		return transcript.Entry{Type: transcript.EntryCompaction, Compaction: &c}, nil
	}
	return transcript.Entry{}, &skipError{Reason: "no operation " + name}
}

func customEntry(typ transcript.EntryType, args []json.RawMessage, names ...string) transcript.Entry {
	e := transcript.Entry{Type: typ, Extra: map[string]json.RawMessage{}}
	for i, name := range names {
		if i < len(args) {
			e.Extra[name] = args[i]
		}
	}
	return e
}

// resolve replaces $id1 by the id of the first entry made.
func (m *manager) resolve(s string) string {
	var n int
	if _, err := fmt.Sscanf(s, "$id%d", &n); err == nil && n >= 1 && n <= len(m.ids) {
		return m.ids[n-1]
	}
	return s
}

// moved reduces a leaf move: it gives nothing, or an error that names the entry.
func (m *manager) moved(name string, err error) (string, any, error) {
	return name, failure(err), nil
}

func failure(err error) any {
	var missing *transcript.EntryNotFoundError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return fmt.Sprintf("ERR Entry %s not found", missing.ID)
	}
	return "ERR " + err.Error()
}

func (m *manager) appended(name string, e transcript.Entry) (string, any, error) {
	out, err := m.log.Append(context.Background(), e)
	if err != nil {
		return name, failure(err), nil
	}
	m.ids = append(m.ids, out[0].ID)
	return name, out[0].ID, nil
}

func (m *manager) outcome(played [][]any) (any, error) {
	v, err := m.log.View(context.Background())
	if err != nil {
		return nil, err
	}
	shown := [][2]string{}
	for _, x := range contextMessages(v) {
		shown = append(shown, [2]string{string(x.Role), x.Text})
	}
	out := map[string]any{"log": played, "context": shown, "leaf": nil, "fileExists": false, "file": nil}
	branch, err := collect(m.log.Branch(context.Background()))
	if err != nil {
		return nil, err
	}
	if len(branch) > 0 {
		out["leaf"] = branch[len(branch)-1].ID
	}
	return out, m.describeFiles(out)
}

// describeFiles reduces the session's file and names the others, as recorded.
func (m *manager) describeFiles(out map[string]any) error {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		return err
	}
	others := []string{}
	stamped := regexp.MustCompile(`corrupt-.*\.jsonl$`)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".bak") {
			continue // the file before a migration, which the reference does not keep
		}
		if strings.Count(e.Name(), ".jsonl") != 1 || !strings.HasSuffix(e.Name(), ".jsonl") {
			others = append(others, stamped.ReplaceAllString(e.Name(), "corrupt-<stamp>.jsonl"))
			continue
		}
		lines, err := fileLines(filepath.Join(m.dir, e.Name()))
		if err != nil {
			return err
		}
		rows := []any{}
		for _, line := range lines {
			rows = append(rows, m.reduceLine(line)...)
		}
		out["fileExists"], out["file"] = true, rows
	}
	out["otherFiles"] = others
	return nil
}

// reduceLine keeps type, id and parent. Leaf rows are left out: the reference keeps where it is
// in memory only.
func (m *manager) reduceLine(line string) []any {
	var row map[string]any
	if json.Unmarshal([]byte(line), &row) != nil || row == nil {
		return []any{line}
	}
	switch {
	case row["type"] == "session":
		return []any{map[string]any{"type": "session", "version": row["version"]}}
	case row["type"] == "leaf" || m.mended != "" && row["id"] == m.mended:
		return nil
	}
	return []any{map[string]any{"type": row["type"], "id": row["id"], "parentId": row["parentId"]}}
}
