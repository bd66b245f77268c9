//go:build ignore

// Fitscript fits the costs of the script-aware estimate to exact counts and writes
// scripttables.go, or the file that is named:
//
//	go run fitscript.go fitrows.go [FILE]
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
	"bytes"
	"fmt"
	"go/format"
	"log"
	"math"
	"os"
	"strconv"
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
	0: "aeiou", 1: "tnsrhldc", 31: "mfpgbvw", 2: "kyxjqz", 3: "ABCDEFGHILMNOPRSTU", 19: "JKQVWXYZ", 4: "0123456789",
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
	costs   = runs + utf8.RuneSelf
)

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
	before := -1
	for i := range len(s) {
		b := int(s[i])
		c := classOf[b]
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
		if b >= threeBytes && b < fourBytes && i+2 < len(s) && rare[b%16<<12|int(s[i+1])%blocks<<6|int(s[i+2])%blocks] {
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
	high := highest
	if i >= seconds && i < runs || i%classes >= 16 && i%classes < inside {
		high = topmost
	}
	return max(0, min(high, cost))
}

func render(out []float64) []byte {
	var b bytes.Buffer
	b.WriteString(header)
	for i, c := range classOf {
		fmt.Fprintf(&b, "%d,", c)
		if i%16 == 15 {
			fmt.Fprintf(&b, " // 0x%X0\n", i/16)
		}
	}
	b.WriteString(middle)
	for row := range classes {
		for column := range classes {
			fmt.Fprintf(&b, "%d,", units(out, row, column))
		}
		fmt.Fprintf(&b, " // %d\n", row)
	}
	b.WriteString(runsHead)
	for c := range utf8.RuneSelf {
		n := 0
		if canRun(classOf[c]) {
			n = max(1, int(math.Ceil(out[runs+c]*scale)))
		}
		fmt.Fprintf(&b, "%d,", n)
		if c%16 == 15 {
			fmt.Fprintf(&b, " // 0x%X0\n", c/16)
		}
	}
	b.WriteString(end)
	for lead := range leads {
		fmt.Fprintf(&b, "%s + // 0x%X\n", extras(out, seconds+lead*blocks), firstLead+lead)
	}
	for second := range blocks / 2 {
		fmt.Fprintf(&b, "%s + // 0x%X 0x%X\n", extras(out, thirds+second*blocks), indic, 0xa0+second)
	}
	fmt.Fprintf(&b, "%s // 0x%X 0x%X\n", extras(out, emojis), emoji, emojiSecond)
	b.WriteString(raresHead)
	for i := range fourBytes - threeBytes {
		fmt.Fprintf(&b, "%d,", int(math.Round(out[rares+i]*scale)))
	}
	b.WriteString(rareHead)
	for from := 0; from < len(rare); from += 1 << 9 {
		fmt.Fprintf(&b, "%s + // U+%04X\n", bits(rare[from:from+1<<9]), from)
	}
	b.WriteString("\"\"\n")
	return b.Bytes()
}

// bits packs eight to a byte, the first the lowest.
func bits(set []bool) string {
	packed := make([]byte, len(set)/8)
	for i, is := range set {
		if is {
			packed[i/8] |= 1 << (i % 8)
		}
	}
	return strconv.QuoteToASCII(string(packed))
}

func extras(out []float64, from int) string {
	var line [blocks]byte
	for i := range line {
		line[i] = byte(math.Round(out[from+i] * scale))
	}
	return strconv.QuoteToASCII(string(line[:]))
}

func units(out []float64, row, column int) int {
	switch {
	case column == inside && tailOf[row] == 0:
		return scale // inside nothing: no valid text
	case column == inside:
		return tailOf[row]
	}
	return int(math.Ceil(out[row*classes+column]*scale - 0.25))
}

const header = `// Code generated by fitscript.go; DO NOT EDIT.

package tokens

import "unicode/utf8"

// byteClasses gives each byte its class.
//
//	 0 vowel     1 tnsrhldc  2 kyxjqz    3 capital    4 digit      5 blank     6 line break  7 tab
//	 8 quote     9 bracket  10 comma   11 stop       12 slash     13 hyphen   14 sign       15 control
//	16 Latin    17 Hellenic 18 Cyrillic 19 JKQVWXYZ  20 Arabic    21 Indic    22 lead E1    23 lead E2
//	24 kana     25 Han      26 Hangul   27 lead EF   28 lead F0   29 inside   30 underscore 31 mfpgbvw
//
// From 16 to 28 it is the script that most text with this leading byte is in; Hellenic
// is Greek, Armenian and Hebrew. 29 is a byte inside a character; after an ASCII one it
// is no valid text and costs a token.
var byteClasses = [256]uint8{
`

const middle = `}

// pairCosts is the cost, in 1/unitsPerToken, of a character of the class of the column
// after one of the class of the row; rows and columns are numbered as above. Row 29 is
// for what comes after a run, two or more of one blank or sign.
//
// The numbers are a bounded least-squares fit of exact o200k_base counts, taken a tenth
// to a half too high, over texts in thirty languages, source code, JSON, logs and random
// data. Lower bounds keep every repetition of up to three characters, and the random
// characters of every script, from costing too little.
var pairCosts = [classCount * classCount]uint8{
`

const runsHead = `}

// runCosts is what the third and each later character of a run costs; 0 is for
// characters whose repetition is no run.
var runCosts = [utf8.RuneSelf]uint8{
`

const end = `}

// blockCosts is what a character costs beyond its pair, by leading byte from 0xC0 on and
// second byte: 64 for each. It tells apart the scripts that share a leading byte. After
// 0xE0, which most Indic scripts and Thai have, 64 more for each second byte from 0xA0 on
// tell frequent characters from rare ones by the third, and the last 64 do so for emoji
// after 0xF0 0x9F.
const blockCosts = "" +
`

const raresHead = `
// rareCosts is what a rare character costs beyond that, by leading byte from 0xE0 on.
var rareCosts = [...]uint8{`

const rareHead = `}

// rareCharacters has a bit for each character below U+10000, set for those of three bytes
// that are no token by themselves.
const rareCharacters = "" +
`
