package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// shownProblems is how many unreadable lines are listed one by one.
const shownProblems = 5

// describe prints entries by type, messages by role, what could not be read, and how
// much of it a model would see.
func describe(ctx context.Context, w io.Writer, path string, session transcript.Reader, count *tokens.Meter) error {
	entries, roles := map[string]int{}, map[string]int{}
	for e, err := range session.Entries(ctx) {
		if err != nil {
			return err
		}
		entries[string(e.Type)]++
		if e.Type == transcript.EntryMessage && e.Message != nil {
			roles[string(e.Message.Role)]++
		}
	}
	view, err := session.View(ctx)
	if err != nil {
		return err
	}
	head := session.Header()
	fmt.Fprintf(w, "session %s (version %d) from %s\n\n", plain(head.ID), head.Version, plain(path))
	table(w, "entries", entries)
	table(w, "messages", roles)

	problems := session.Problems()
	fmt.Fprintf(w, "problems %d\n", len(problems))
	for i, p := range problems {
		if i == shownProblems {
			fmt.Fprintf(w, "  and %d more\n", len(problems)-i)
			break
		}
		fmt.Fprintf(w, "  %s\n", plain(p.Error()))
	}
	_, err = fmt.Fprintf(w, "view %d messages, %d tokens\n", len(view.Messages), count.Messages(view.Messages))
	return err
}

// table prints a total and what it is made of, the largest share first.
func table(w io.Writer, title string, counts map[string]int) {
	total := 0
	for _, n := range counts {
		total += n
	}
	fmt.Fprintf(w, "%s %d\n", title, total)
	byCount := func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) }
	for _, name := range slices.SortedFunc(maps.Keys(counts), byCount) {
		fmt.Fprintf(w, "  %5d %s\n", counts[name], plain(name))
	}
}

// plain returns s for a terminal: what does not print, a file may hold it, is quoted.
func plain(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	return strconv.Quote(s)
}
