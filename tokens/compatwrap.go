package tokens

import (
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
func bashWidth(b message.Bash) int {
	n := bashCommandChars + measure(b.Command).weighted
	if b.Output != "" {
		n += bashFenceChars + measure(b.Output).weighted
	} else {
		n += bashNoOutputChars
	}
	if b.Cancelled {
		n += bashCancelledChars
	} else if b.ExitCode != nil && *b.ExitCode != 0 {
		n += bashExitChars + len(strconv.Itoa(*b.ExitCode))
	}
	if b.Truncated && b.FullOutputPath != "" {
		n += bashTruncatedChars + measure(b.FullOutputPath).weighted
	}
	return n
}
