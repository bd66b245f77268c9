package contextengine

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cutRunes shortens s to at most n code points without splitting one.
func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// sanitise makes text safe for one line of a log or an error: terminal escape
// sequences are removed, runs of control characters (C0, DEL, C1), line and
// paragraph separators and marks that change the direction of text become one
// blank, and bytes that are not UTF-8, which some terminals take for control
// characters, become U+FFFD.
func sanitise(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, isUnsafe) < 0 {
		return s
	}
	if strings.ContainsAny(s, "\x1b\u009b") {
		s = escapeSequence().ReplaceAllString(s, "")
	}
	var b strings.Builder
	blank := false
	for _, r := range s {
		if isUnsafe(r) {
			blank = true
			continue
		}
		if blank && b.Len() > 0 {
			b.WriteByte(' ')
		}
		blank = false
		b.WriteRune(r)
	}
	return b.String()
}

// oneLine is an error's text as a log shows it: bounded, on one line.
func oneLine(err error) string { return sanitise(cutRunes(errText(err), reasonLimit)) }

func isUnsafe(r rune) bool {
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// escapeSequence matches ECMA-48 control sequences and operating system
// commands. Compiled when needed: only failures with escapes in them get here.
func escapeSequence() *regexp.Regexp {
	return regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]`)
}

// errText reads an error's text; an Error method that panics must not take the
// host with it.
func errText(err error) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprintf("%T whose Error method panics", err)
		}
	}()
	return err.Error()
}
