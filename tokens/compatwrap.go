package tokens

import (
	"encoding/json"
	"strconv"

	"github.com/go-contextengine/contextengine/message"
)

// Lengths, in characters, of the fixed text that OpenClaw 2026.7.1 puts around what
// it shows a model. Only their size matters here; our own wording is in package message.
const (
	compactionWrapperChars = 96 + 11
	branchWrapperChars     = 89 + 10

	bashCommandChars   = 7 // before and after the command
	bashFenceChars     = 8 // around the output
	bashNoOutputChars  = 11
	bashCancelledChars = 21
	bashExitChars      = 27 // and the code
	bashTruncatedChars = 35 // and the path
)

// bashWidth is the weighted length of a bash message as the reference renders it.
func bashWidth(m *message.Message) int {
	n := bashCommandChars + measure(extraString(m.Extra, "command")).weighted
	if output := extraString(m.Extra, "output"); output != "" {
		n += bashFenceChars + measure(output).weighted
	} else {
		n += bashNoOutputChars
	}
	if isTrue(m.Extra["cancelled"]) {
		n += bashCancelledChars
	} else if code := exitCode(m.Extra["exitCode"]); code != 0 {
		n += bashExitChars + len(strconv.Itoa(code))
	}
	if path := extraString(m.Extra, "fullOutputPath"); path != "" && isTrue(m.Extra["truncated"]) {
		n += bashTruncatedChars + measure(path).weighted
	}
	return n
}

func exitCode(raw json.RawMessage) int {
	code, err := strconv.Atoi(string(raw))
	if err != nil {
		return 0
	}
	return code
}
