package compact

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// ErrInvalidSession is what [Prepare] returns when the first kept row has no id.
var ErrInvalidSession = errors.New("first kept row has no id")

// A Preparation is what OpenClaw would compact of a branch.
type Preparation struct {
	FirstKeptEntryID      string
	Summarise, TurnPrefix []message.Message
	Split                 bool
	TokensBefore          int
	Previous              string // summary to update; "": none
	Files                 FileOperations
}

// Prepare reads a branch, root first, as OpenClaw 2026.7.1 does before it compacts, with
// its estimate. false: there is nothing to prepare, because the branch is empty or has
// just been compacted. See [MakePlan] for what this package itself does.
func Prepare(branch []transcript.Entry, keepRecent int) (Preparation, bool, error) {
	if len(branch) == 0 || branch[len(branch)-1].Type == transcript.EntryCompaction {
		return Preparation{}, false, nil
	}
	var p Preparation
	start, last := 0, lastCompaction(branch)
	if last >= 0 {
		c := branch[last].Compaction
		p.Previous = c.Summary
		start = last + 1
		if i := indexOfEntry(branch, c.FirstKeptEntryID); i >= 0 {
			start = i
		}
		if string(branch[last].Extra["fromHook"]) != "true" {
			p.Files.carry(c.Details)
		}
	}
	cut := FindCutPoint(branch[start:], keepRecent, tokens.Compat())
	kept := start + cut.FirstKept
	if p.FirstKeptEntryID = branch[kept].ID; p.FirstKeptEntryID == "" {
		return Preparation{}, false, ErrInvalidSession
	}
	p.TokensBefore = tokens.CompatContext(shownOf(branch, last, start)).Tokens
	history := kept
	if cut.Split() {
		p.Split, history = true, start+cut.TurnStart
		p.TurnPrefix = messagesOf(branch[history:kept])
	}
	p.Summarise = messagesOf(branch[start:history])
	for _, ms := range [...][]message.Message{p.Summarise, p.TurnPrefix} {
		p.Files.add(ms)
	}
	return p, true, nil
}

func lastCompaction(branch []transcript.Entry) int {
	for i := len(branch) - 1; i >= 0; i-- {
		if branch[i].Type == transcript.EntryCompaction && branch[i].Compaction != nil {
			return i
		}
	}
	return -1
}

func indexOfEntry(branch []transcript.Entry, id string) int {
	return slices.IndexFunc(branch, func(e transcript.Entry) bool { return id != "" && e.ID == id })
}

// messagesOf converts rows to messages, without compactions.
func messagesOf(rows []transcript.Entry) []message.Message {
	var out []message.Message
	for _, e := range rows {
		if m, ok := e.InView(); ok && e.Type != transcript.EntryCompaction {
			out = append(out, m)
		}
	}
	return out
}

// shownOf is the list that a model would see of a branch whose last compaction, at last,
// keeps what starts at start.
func shownOf(branch []transcript.Entry, last, start int) []message.Message {
	if last < 0 {
		return messagesOf(branch)
	}
	var out []message.Message
	if m, ok := branch[last].InView(); ok {
		out = append(out, m)
	}
	if start < last {
		out = append(out, messagesOf(branch[start:last])...)
	}
	return append(out, messagesOf(branch[last+1:])...)
}

// FileOperations are the files that tool calls named read, write and edit touched, in the
// order of their first call.
type FileOperations struct{ Read, Written, Edited []string }

// FileLists are the files of a compaction's details: sorted, without repetitions, and a
// file that was changed is not listed as read. The JSON is the one that OpenClaw stores.
type FileLists struct {
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
}

// Lists sums f up.
func (f FileOperations) Lists() FileLists {
	modified := sortedSet(f.Written, f.Edited)
	read := slices.DeleteFunc(sortedSet(f.Read), func(path string) bool {
		_, found := slices.BinarySearch(modified, path)
		return found
	})
	return FileLists{ReadFiles: read, ModifiedFiles: modified}
}

func sortedSet(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	if all == nil {
		return []string{}
	}
	return slices.Compact(all)
}

// carry takes over the lists of an earlier compaction. Details of another shape hold none.
func (f *FileOperations) carry(details json.RawMessage) {
	for _, path := range stringsAt(details, "readFiles") {
		f.Read = appendNew(f.Read, path)
	}
	for _, path := range stringsAt(details, "modifiedFiles") {
		f.Edited = appendNew(f.Edited, path)
	}
}

func (f *FileOperations) add(ms []message.Message) {
	for i := range ms {
		if ms[i].Role != message.RoleAssistant {
			continue
		}
		for call := range ms[i].ToolCalls() {
			f.call(call)
		}
	}
}

func (f *FileOperations) call(call message.Block) {
	var path string
	if json.Unmarshal(fieldsOf(call.Arguments)["path"], &path) != nil || path == "" {
		return
	}
	switch call.Name {
	case "read":
		f.Read = appendNew(f.Read, path)
	case "write":
		f.Written = appendNew(f.Written, path)
	case "edit":
		f.Edited = appendNew(f.Edited, path)
	}
}

// fieldsOf returns the fields of a JSON object under their exact names, unlike decoding
// into a struct; nil for anything else.
func fieldsOf(raw json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// stringsAt returns the list of texts of a field; nil for anything else.
func stringsAt(raw json.RawMessage, name string) []string {
	var list []string
	if json.Unmarshal(fieldsOf(raw)[name], &list) != nil {
		return nil
	}
	return list
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
