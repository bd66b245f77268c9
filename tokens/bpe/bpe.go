// Package bpe counts tokens exactly for models whose vocabulary is public: the
// encodings o200k_base and cl100k_base. It needs no file and no network.
//
// # Counting
//
// An [Encoding] is a [tokens.Estimator]. [ForModel] picks one by model name and says
// whether it is the model's own or only the closest one there is:
//
//	e, approximate := bpe.ForModel("gpt-4o")
//	meter := tokens.NewMeter(e, nil)
//
// A host takes it as host.Options.Estimator, with Uncalibrated where it is not
// approximate: then there is no error to be learnt.
//
// Importing the package adds the two packed vocabularies, 2.3 MB, to a program. The
// first use of an encoding unpacks it once, in some tens of milliseconds, into about
// 6 MB without pointers; counting allocates nothing. Wrap an encoding in a
// [tokens.Meter], so that no message is counted twice.
//
// # Exactness
//
// The ids are those of tiktoken for ordinary text. Text that looks like a special
// token is counted as the text it is. Of cl100k_base the widespread older pattern is
// used: text that ends in a line break and further blanks may differ by one token
// from tools that follow the newer one. Invalid UTF-8 is counted byte by byte as it
// is; tools that replace it first differ there.
package bpe

//go:generate go run gen.go

import (
	_ "embed"
	"encoding/json"
	"sync"
	"unicode/utf8"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

var (
	//go:embed vocab/o200k_base.bin
	o200kPacked string
	//go:embed vocab/cl100k_base.bin
	cl100kPacked string

	o200kBase  = sync.OnceValue(func() *Encoding { return newEncoding("o200k_base", o200kPacked, nextO200k) })
	cl100kBase = sync.OnceValue(func() *Encoding { return newEncoding("cl100k_base", cl100kPacked, nextCL100k) })
)

// O200kBase returns the encoding of GPT-4o and later OpenAI models.
func O200kBase() *Encoding { return o200kBase() }

// CL100kBase returns the encoding of GPT-4, GPT-3.5 and their embedding models.
func CL100kBase() *Encoding { return cl100kBase() }

// An Encoding turns text into tokens of one vocabulary. It is immutable and safe for
// concurrent use. Get one from [O200kBase], [CL100kBase] or [ForModel]; the zero
// Encoding is not usable.
type Encoding struct {
	name   string
	next   nextFunc
	class  *classTable
	vocab  *vocabulary
	framed tokens.Estimator
	pool   sync.Pool // of *scratch
}

var _ tokens.Estimator = (*Encoding)(nil)

func newEncoding(name, packed string, next nextFunc) *Encoding {
	e := &Encoding{name: name, next: next, class: runeClasses(), vocab: unpack(packed)}
	e.pool.New = func() any { return new(scratch) }
	e.framed = tokens.Framed(e.Count)
	return e
}

// maxPiece is the longest piece in bytes; positions in it are 32-bit numbers.
const maxPiece = 1 << 30

// Name returns the encoding's public name, such as "o200k_base".
func (e *Encoding) Name() string { return e.name }

// Count returns the number of tokens of s. Time grows with len(s) and, inside one
// word, with its logarithm: no text takes more than a second per megabyte.
func (e *Encoding) Count(s string) int {
	sc := e.pool.Get().(*scratch)
	n := 0
	for len(s) > 0 {
		k := min(e.next(e.class, s), maxPiece)
		if e.vocab.rank(s[:k]) != 0 {
			n++
		} else {
			n += e.vocab.merge(s[:k], sc)
		}
		s = s[k:]
	}
	e.release(sc)
	return n
}

// Append appends the ids of s to dst and returns the extended slice.
func (e *Encoding) Append(dst []int, s string) []int {
	sc := e.pool.Get().(*scratch)
	for len(s) > 0 {
		k := min(e.next(e.class, s), maxPiece)
		piece := s[:k]
		s = s[k:]
		if r := e.vocab.rank(piece); r != 0 {
			dst = append(dst, int(r-1))
			continue
		}
		e.vocab.merge(piece, sc)
		for _, token := range sc.cuts(piece) {
			dst = append(dst, int(e.vocab.rank(token)-1))
		}
	}
	e.release(sc)
	return dst
}

func (e *Encoding) release(sc *scratch) {
	if sc.large() {
		return
	}
	e.pool.Put(sc)
}

// Estimate samples a text longer than sampleAbove, at its head and its tail. In bytes.
const (
	sampleHead  = 256 << 10
	sampleTail  = 64 << 10
	sampleAbove = 1 << 20
)

// Estimate counts s exactly up to 1 MB. Of a longer text it counts the first 256 KB
// and the last 64 KB, takes the middle for as dense, and returns exact == false. It
// is meant for huge tool results that will be cut anyway.
func (e *Encoding) Estimate(s string) (n int, exact bool) {
	if len(s) <= sampleAbove {
		return e.Count(s), true
	}
	head, tail := runeStart(s, sampleHead), runeStart(s, len(s)-sampleTail)
	counted := e.Count(s[:head]) + e.Count(s[tail:])
	bytes := head + len(s) - tail
	return int(float64(counted) * float64(len(s)) / float64(bytes)), false
}

// runeStart moves i back to where a character starts.
func runeStart(s string, i int) int {
	for k := 0; k < utf8.UTFMax && i > 0 && !utf8.RuneStart(s[i]); k++ {
		i--
	}
	return i
}

// Text is Count, for [tokens.Estimator].
func (e *Encoding) Text(s string) int { return e.Count(s) }

// Message counts a message's texts exactly and adds the framing of [tokens.Framed].
func (e *Encoding) Message(m message.Message) int { return e.framed.Message(m) }

// Schema counts one tool definition as JSON text, with the framing of [tokens.Framed].
func (e *Encoding) Schema(tool json.RawMessage) int { return e.framed.Schema(tool) }
