package message_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
)

func TestUnits(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                             "",
		"u a s x":                      "0-1 1-2 2-3 3-4",
		"u a:c1,c2 r:c2 r:c1 a":        "0-1 1-4 4-5",
		"a:c1 a:c2 r:c2":               "0-1open 1-3",
		"u a:c1,c2 r:c1":               "0-1 1-3open",
		"a:c1 r:c1 a:c1 r:c1":          "0-2 2-4",
		"a:c1 b+:c1 u":                 "0-2 2-3",
		"a:c1 u a r:c1 u":              "0-4 4-5", // stretched over what stands between
		"a:c1 a:c2 r:c2 r:c1 u":        "0-4 4-5", // entangled groups
		"r:zz u a:c1 r:c1":             "0-1 1-2 2-4",
		"a:c1 u a:c2 r:c1 u r:c2 a:c3": "0-6 6-7open",
		"a:c1,c1 r:c1 u":               "0-2open 2-3",
		"u " + strings.Repeat("a ", 3): "0-1 1-2 2-3 3-4",
		manyCalls(70) + " u":           "0-71 71-72",
		manyCalls(70) + " r:c1 u":      "0-71 71-72 72-73",
		"a!:c1 u":                      "0-1open 1-2",
		"a:c1 r:c1 r:c1 u":             "0-2 2-3 3-4",
		"a:c1 r?:c1 u r:c1 a":          "0-4 4-5", // the real result counts
		"a:c1,c2 u r:c1 a":             "0-3open 3-4",
		"a:c1 a:c2,c3 r:c2 r:c1 u":     "0-4open 4-5", // the inner group lacks one
		"a:c1,c2 a:c3 r:c3 r:c1 a:c4":  "0-4open 4-5open",
		"a:c1 u r:c1 a:c2 r:c2 a:c3 u": "0-3 3-5 5-6open 6-7",
		"a:=c1,c1 u":                   "0-1open 1-2",
		"a:c1,=c1 u":                   "0-1 1-2",
		"b:c1 a:c1 b:c1":               "0-1 1-3",
		"a:c1 B+:c1":                   "0-2",
	} {
		var got []string
		for u := range message.Units(list(in)) {
			s := fmt.Sprintf("%d-%d", u.Start, u.End)
			if u.Open {
				s += "open"
			}
			got = append(got, s)
		}
		require.Equal(t, want, strings.Join(got, " "), in)
	}
	for _, in := range []string{"u u", "r:zz u"} {
		for range message.Units(list(in)) {
			break
		}
	}
}

// manyCalls is an assistant message with n calls and its results.
func manyCalls(n int) string {
	var ids, results []string
	for i := range n {
		ids = append(ids, fmt.Sprint("c", i))
		results = append(results, fmt.Sprint("r:c", i))
	}
	return "a:" + strings.Join(ids, ",") + " " + strings.Join(results, " ")
}

func TestCuts(t *testing.T) {
	t.Parallel()
	ms := list("u a:c1,c2 r:c1 r:c2 a")
	for i, want := range map[int][2]int{-5: {0, 0}, 0: {0, 0}, 1: {1, 1}, 2: {1, 4}, 3: {1, 4}, 4: {4, 4}, 5: {5, 5}, 99: {5, 5}} {
		require.Equal(t, want, [2]int{message.SafeCut(ms, i), message.SafeCutAfter(ms, i)}, i)
	}
	for n, want := range map[int]int{-1: 0, 0: 0, 1: 1, 2: 4, 3: 4, 4: 4, 5: 5, 99: 5} {
		require.Len(t, message.Tail(ms, n), want, n)
	}
	require.Empty(t, message.Tail(nil, 3))
	require.Zero(t, message.SafeCut(nil, 3))
	require.Zero(t, message.SafeCutAfter(nil, 3))
}
