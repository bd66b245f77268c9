//go:build ignore

// Fitscript fits the costs of the script-aware estimate to exact counts and writes
// scripttables.go, or the file that is named:
//
//	go run fitscript.go fitrows.go fittexts.go fitrender.go [FILE]
//
// It needs nothing but this repository, and gives the same tables every time with the
// same Go release on amd64: the scripts come from package unicode, and other processors
// may round the last digit otherwise.
//
// What it learns from is in fitrows.go: the texts of testdata/training, generated data,
// random characters of every script, and endless repetitions. The texts of
// testdata/corpus, on which the tests judge the result, take no part.
// What script.go adds for long numbers takes no part in the fit.
package main

import (
	"go/format"
	"log"
	"os"
	"unicode/utf8"

	"github.com/go-contextengine/contextengine/tokens/bpe"
)

const (
	classes    = 32
	blank      = 5
	control    = 15
	inside     = 29 // a byte inside a character; as a row: after a run
	underscore = 30
	scale      = 64 // units per token

	firstLead, leads, blocks = 0xc0, 64, 64 // extra costs are kept per leading and second byte
	indic, emoji             = 0xe0, 0xf0   // and per third byte after these, emoji with emojiSecond
	emojiSecond              = 0x9f
	threeBytes, fourBytes    = 0xe0, 0xf0 // the leading bytes of characters of three bytes
	firstHan, afterHangul    = 0xe4, 0xee

	passes = 400
	// Every so many passes a row below its least value gets heavier.
	reweigh, harder = 20, 1.6
	pull            = 0.02 // towards the prior, for pairs that hardly occur
	// highest and topmost bound the tokens of one character after another.
	highest, topmost = 2.0, 3.5
)

// asciiClasses lists the ASCII characters of each class; the others are control.
var asciiClasses = map[int]string{
	0: "aeiou", 1: "tnsrhldc", 2: "kyxjqz", 3: "mfpgbvw", 31: "ABCDEFGHILMNOPRSTU", 19: "JKQVWXYZ", 4: "0123456789",
	5: " ", 6: "\n\r", 7: "\t", 8: "\"'`", 9: "()[]{}<>", 10: ",;", 11: ".:!?", 12: "/\\", 13: "-",
	14: "=+*&|%^~@#$", 30: "_",
}

// leadClasses gives the leading bytes below each limit their class, in order, with what
// each byte that follows costs in units, so that stray ones are not free.
var leadClasses = []struct {
	below, class, tail int
}{
	{0xc0, inside, 0},
	{0xcc, 16, 8},
	{0xd0, 17, 8},
	{0xd4, 18, 6},
	{0xd8, 17, 8},
	{0xe0, 20, 8},
	{0xe1, 21, 6},
	{0xe2, 22, 8},
	{0xe3, 23, 12},
	{0xe4, 24, 8},
	{0xea, 25, 20},
	{0xee, 26, 8},
	{0xf0, 27, 12},
	{0x100, 28, 16},
}

var classOf, tailOf = func() (class, tail [256]int) {
	for b := range class {
		class[b] = control
		for _, l := range leadClasses {
			if b >= utf8.RuneSelf && b < l.below {
				class[b] = l.class
				tail[l.class] = l.tail
				break
			}
		}
	}
	for c, chars := range asciiClasses {
		for _, b := range []byte(chars) {
			class[b] = c
		}
	}
	return class, tail
}()

// Costs are numbered: first the pairs of classes, then the extras of leading and second
// byte, then those of second and third byte after indic, of the third after emoji, and of
// rare characters by leading byte, then the runs of each character.
const (
	seconds = classes * classes
	thirds  = seconds + leads*blocks
	emojis  = thirds + blocks/2*blocks
	rares   = emojis + blocks
	runs    = rares + fourBytes - threeBytes
	long    = runs + utf8.RuneSelf // a letter after the longest word
	costs   = long + 1
)

// longWord is how many small letters a word has at most; more are none.
const longWord = 16

func isSmallLetter(class int) bool { return class <= 3 }

// rare tells, for the characters of three bytes, which are no token by themselves.
var rare = func() (rare [1 << 16]bool) {
	for c := range rare {
		rare[c] = c >= 0x800 && bpe.O200kBase().Count(string(rune(c))) > 1
	}
	return rare
}()

// features returns how often each cost occurs in s, after a byte of class row, and the
// tokens that are not fitted: the bytes inside characters.
func features(s string, row int) (count map[int]float64, fixed float64) {
	count = map[int]float64{}
	extra := 0 // where the extras of the next byte start; 0: it has none
	before, letters := -1, 0
	for i := range len(s) {
		b := int(s[i])
		c := classOf[b]
		if letters++; !isSmallLetter(c) {
			letters = 0
		}
		if letters > longWord {
			count[long]++
		}
		if extra > 0 {
			count[extra+b%blocks]++
		}
		switch {
		case b >= firstLead:
			extra = seconds + (b-firstLead)*blocks
		case extra == seconds+(indic-firstLead)*blocks:
			extra = thirds + b%(blocks/2)*blocks
		case extra == seconds+(emoji-firstLead)*blocks && b == emojiSecond:
			extra = emojis
		default:
			extra = 0
		}
		if b > indic && b < fourBytes && i+2 < len(s) && rare[b%16<<12|int(s[i+1])%blocks<<6|int(s[i+2])%blocks] {
			count[rares+b-threeBytes]++
		}
		switch {
		case c == inside:
			fixed += float64(tailOf[row]) / scale
		case b == before && canRun(c) && row == inside:
			count[runs+b]++
		default:
			count[row*classes+c]++
			if row = c; b == before && canRun(c) {
				row = inside
			}
		}
		before = b
	}
	return count, fixed
}

// canRun reports whether repeated characters of a class are a run: blanks, signs.
func canRun(class int) bool { return class >= blank && class <= control || class == underscore }

func main() {
	log.SetFlags(0)
	rows, err := trainingRows("testdata/training")
	if err != nil {
		log.Fatal(err)
	}
	out := fit(rows)
	report(out, rows)
	src, err := format.Source(render(out))
	if err != nil {
		log.Fatal(err)
	}
	file := "scripttables.go"
	if len(os.Args) > 1 {
		file = os.Args[1]
	}
	if err := os.WriteFile(file, src, 0o644); err != nil {
		log.Fatal(err)
	}
}

// A cell is one cost in one row of the fit.
type cell struct {
	row   int
	share float64
}

// fit minimises the weighted squares of what the rows say, cost by cost, within the bounds.
func fit(rows []row) []float64 {
	out := make([]float64, costs)
	columns := make([][]cell, costs)
	value := make([]float64, len(rows))
	for i := range out {
		out[i] = prior(i)
	}
	for r, row := range rows {
		value[r] = row.fixed
		for _, s := range row.share {
			columns[s.cost] = append(columns[s.cost], cell{r, s.times})
			value[r] += out[s.cost] * s.times
		}
	}
	for pass := range passes {
		step := 0.5 * (1 - float64(pass)/passes) // shorter and shorter: hinges make it overshoot
		for i, column := range columns {
			slope, curve := pull*(out[i]-prior(i)), pull
			for _, c := range column {
				off, weight := rows[c.row].off(value[c.row])
				slope += weight * c.share * off
				curve += weight * c.share * c.share
			}
			next := bound(i, out[i]-max(-step, min(step, slope/curve)))
			for _, c := range column {
				value[c.row] += (next - out[i]) * c.share
			}
			out[i] = next
		}
		if pass%reweigh == reweigh-1 {
			for r := range rows {
				if value[r] < rows[r].least {
					rows[r].short = min(rows[r].short*harder, 1000)
				}
			}
		}
	}
	for r := range rows {
		raise(out, &rows[r])
	}
	return out
}

// raise lifts the costs of a row that is still below its least value, all by the same.
func raise(out []float64, r *row) {
	value, times := r.value(out), 0.0
	for _, s := range r.share {
		if s.cost < seconds || s.cost >= runs {
			times += s.times
		}
	}
	if value >= r.least {
		return
	}
	for _, s := range r.share {
		if s.cost < seconds || s.cost >= runs {
			out[s.cost] = min(topmost, out[s.cost]+(r.least-value)/times)
		}
	}
}

// prior is what a pair costs that no row has.
func prior(i int) float64 {
	switch {
	case i >= seconds:
		return 0
	case i/classes == i%classes:
		return 0.25
	}
	return 0.6
}

func bound(i int, cost float64) float64 {
	if i >= seconds+(firstHan-firstLead)*blocks && i < seconds+(afterHangul-firstLead)*blocks {
		return 0 // rare or not is all that matters there
	}
	if i == runs+'\t' { // most indents are shallow, so that the fit would make up for them here
		return max(0, min(0.375, cost))
	}
	high := highest
	if i >= seconds && i < runs || i%classes >= 16 && i%classes < inside {
		high = topmost
	}
	return max(0, min(high, cost))
}
