// Package tiktoken makes an Estimator of an encoding that a host already holds, such
// as a *tiktoken.Tiktoken of github.com/pkoukk/tiktoken-go. It imports no such module
// itself.
//
//	enc, err := tiktokengo.GetEncoding("o200k_base") // of that module
//	// …
//	count := tokens.NewMeter(tiktoken.New(enc), nil)
//
// A host without one is better served by package tokens/bpe, which gives the same
// counts several times faster and needs no download.
package tiktoken

import (
	"unicode/utf8"

	"github.com/go-contextengine/contextengine/tokens"
)

// An Encoder is the method of *tiktoken.Tiktoken that is used. It must be safe for
// concurrent use, as that one is.
type Encoder interface {
	Encode(text string, allowedSpecial, disallowedSpecial []string) []int
}

// maxRun is the longest run, in bytes, that is given to an encoder in one piece. The
// time that encoders of this interface take is quadratic in it: 2 KB is a few
// milliseconds, 64 KB are seconds.
const maxRun = 2 << 10

// New returns an Estimator that counts with enc, with the framing of [tokens.Framed].
//
//   - Special tokens in a text are counted as the text they are.
//   - A run of more than 2 KB without a change between letters, digits, blanks and
//     punctuation is counted in parts, which may add a token per part.
//   - Every count encodes again: wrap the Estimator in a [tokens.Meter].
func New(enc Encoder) tokens.Estimator {
	return tokens.Framed(func(s string) int { return count(enc, s) })
}

func count(enc Encoder, s string) int {
	n := 0
	for len(s) > 0 {
		end := cut(s)
		n += len(enc.Encode(s[:end], nil, nil))
		s = s[end:]
	}
	return n
}

// cut returns where the first run that is too long has to be parted, or len(s).
func cut(s string) int {
	start, last := 0, kindOf(s[0])
	for i := 1; i < len(s); i++ {
		k := kindOf(s[i])
		if k != last || k == digit {
			start, last = i, k
			continue
		}
		if i-start >= maxRun && utf8.RuneStart(s[i]) {
			return i
		}
	}
	return len(s)
}

type kind uint8

const (
	word kind = iota // letters, and everything beyond ASCII
	digit
	blank
	sign
)

func kindOf(c byte) kind {
	switch {
	case c >= utf8.RuneSelf, c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return word
	case c >= '0' && c <= '9':
		return digit
	case c == ' ', c >= '\t' && c <= '\r':
		return blank
	}
	return sign
}
