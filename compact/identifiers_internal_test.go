package compact

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Skipping text that cannot hold an identifier changes nothing but the time it takes.
func TestPromisingPartsHaveAllIdentifiers(t *testing.T) {
	t.Parallel()
	words := []string{
		"the", "build", "failed.", "see", "/srv/app/main.go", "250", "ms", "30 days", "(cafebabe).", "e.g.",
		"https://x.org/a?b=1,", "JIRA-12", "\n", "\t", "db.prod:5432", "MAX_RETRIES", "说：", "编号是srv-9a8b7c，", "deadbeef", "a", "99.5%", "v1.2.3",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(words)).Draw(t, "words"), rapid.SampledFrom([]string{" ", "  ", "\n"}).Draw(t, "between"))
		var whole, parts []string
		whole = identifier.FindAllString(text, -1)
		for _, p := range promising(text) {
			parts = append(parts, identifier.FindAllString(p, -1)...)
		}
		require.Equal(t, whole, parts)
	})
}

// An identifier is in a text when it stands there by itself.
func TestHolds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		id, text string
		want     bool
	}{
		{"/srv/app", "see /srv/app.", true},
		{"/srv/app", "see /srv/app/main.go", true},
		{"/srv/app", "/srv/application/x", false},
		{"/srv/app", "/old/srv/app", false},
		{"/srv/app", "../srv/app", false},
		{"/srv/app", "/srv/application and /srv/app", true},
		{"v1.2.3", "v1.2.34", false},
		{"v1.2.3", "v1.2.3.4", false},
		{"v1.2.3", "v1.2.3-rc1", false},
		{"v1.2.3", "It is v1.2.3. Ship it", true},
		{"12 ms", "112 ms", false},
		{"12 ms", "0.12 ms", false},
		{"12 ms", "- 12 ms, at most", true},
		{"250 rows", "1,250 rows", false},
		{"123456", "9123456", false},
		{"123456", "1234567", false},
		{"654321", "123456,654321", true},
		{"report.go", "myreport.go", false},
		{"report.go", "my-report.go", false},
		{"report.go", "report.go.bak", false},
		{"report.go", "`src/report.go:12`", true},
		{"db.internal:5432", "db.internal:54321", false},
		{"srv-9a8b", "编号是srv-9a8b请", true},
		{"99.5%", "99.5% of them", true},
		{"deadbeef", "DEADBEEF", true},
		{"deadbeef", "deadbeefcafe", false},
		{"job_1a", "xjob_1a job_1ab", false},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, holds(tt.text, strings.ToLower(tt.text), tt.id), "%q in %q", tt.id, tt.text)
	}
}

// Of what somebody pasted in, the beginning and the end are searched, and no cut word counts
// as an identifier.
func TestIdentifiersOfAHugeMessage(t *testing.T) {
	t.Parallel()
	middle := strings.Repeat("/srv/filler/0001.log ", 50_000)
	text := "see /etc/first.conf " + middle + " /srv/middle/only.log " + middle + " and /etc/last.conf"
	got := requiredIdentifiers([]segment{{label: labelUser, text: text}})
	require.ElementsMatch(t, []string{"/etc/first.conf", "/srv/filler/0001.log", "/etc/last.conf"}, got)
}

// So it is where the text has no blanks, whose characters stay whole.
func TestIdentifiersOfAHugeMessageWithoutBlanks(t *testing.T) {
	t.Parallel()
	for _, cut := range []string{"", "。", "啊", "x"} { // moves the place of the cut
		text := cut + "见/etc/first.conf。" + strings.Repeat("没有空格的文字", 10_000) + "见/etc/last.conf"
		s := segment{label: labelUser, text: text}
		require.True(t, utf8.ValidString(s.ends()))
		require.LessOrEqual(t, len(s.ends()), maxSearched+1)
		require.Equal(t, []string{"/etc/first.conf", "/etc/last.conf"}, ExtractIdentifiers(s.ends()))
	}
}
