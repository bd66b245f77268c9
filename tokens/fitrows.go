//go:build ignore

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-contextengine/contextengine/tokens/bpe"
)

// A row is one thing the fit should bring about for a text: estimate ÷ exact count near
// target, where falling short weighs more than going beyond, and never below least.
type row struct {
	name          string
	target, least float64
	short, beyond float64 // weights
	share         []share // how often each cost occurs, per exact token
	fixed         float64 // what is not fitted, per exact token
}

// A share is the number of times a cost occurs.
type share struct {
	cost  int
	times float64
}

// off returns how far a value is from the target, and how much that weighs.
func (r *row) off(value float64) (off, weight float64) {
	off = value - r.target
	if off < 0 {
		return off, r.short
	}
	return off, r.beyond
}

func newRow(name, s string, target, short, beyond float64) row {
	return newRowAfter('\n', name, s, target, short, beyond)
}

func newRowAfter(before rune, name, s string, target, short, beyond float64) row {
	count, fixed := features(s, classOf[string(before)[0]])
	exact := float64(bpe.O200kBase().Count(s))
	r := row{name: name, target: target, short: short, beyond: beyond, fixed: fixed / exact}
	for _, i := range slices.Sorted(maps.Keys(count)) {
		r.share = append(r.share, share{i, count[i] / exact})
	}
	return r
}

func (r *row) value(costs []float64) float64 {
	v := r.fixed
	for _, s := range r.share {
		v += costs[s.cost] * s.times
	}
	return v
}

// report prints what estimate ÷ exact count became for each kind of row.
func report(costs []float64, rows []row) {
	sums, n, low := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for i := range rows {
		kind, _, _ := strings.Cut(rows[i].name, " ")
		v := rows[i].value(costs)
		if n[kind] == 0 || v < low[kind] {
			low[kind] = v
		}
		sums[kind] += v
		n[kind]++
		if v < rows[i].least-0.01 {
			fmt.Printf("%.2f for %s\n", v, rows[i].name)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(sums)) {
		fmt.Printf("%-9s mean %.2f, least %.2f\n", kind, sums[kind]/n[kind], low[kind])
	}
}

const (
	piecesPerText = 120
	shortWeight   = 4.0
)

// targets holds what estimate ÷ exact count should be for the texts, and their weight.
var targets = map[string]struct{ target, weight float64 }{
	"prose": {1.16, 3}, "formal": {1.15, 3}, "markdown": {1.10, 2}, "go": {1.08, 2}, "code": {1.06, 4}, "logs": {1.1, 1}, "json": {1.10, 2},
	"russian": {1.12, 2}, "ukrainian": {1.15, 1}, "arabic": {1.00, 2}, "arabicplain": {0.98, 2}, "persian": {1.15, 1}, "latin": {1.2, 2}, "symbols": {1.25, 0.3}, "vietnamese": {1.2, 1}, "assembler": {1.15, 1},
	"greek": {1.15, 0.5}, "hebrew": {1.15, 0.5}, "indic": {1.3, 0.3}, "southeast": {1.25, 0.3}, "caucasus": {1.2, 0.3}, "other": {1.15, 0.2}, "thai": {1.3, 1},
	"han": {1.3, 3}, "kana": {1.28, 1}, "hangul": {1.2, 2},
	"emoji": {1.1, 0.5}, "faces": {1.15, 1}, "base64": {1.15, 1}, "hex": {1.15, 1}, "hexdump": {1.15, 0.5}, "numbers": {1.15, 0.5},
	"capitals": {0.8, 0.3}, "letters": {1, 0.3}, "names": {1.15, 0.5},
}

// oddities are texts of which no language has many: grids, grades, initials, tables of
// letters. Each is repeated with another letter or digit for each question mark, and another Han,
// kana or accented letter for 漢, か and ń.
var oddities = []string{
	"? ", "?\n", "\"?\", ", "\"?\",", "'?',", "| ? ", "?. ", "?,", "?;", "?-", "?/", "(?) ", "[?]", "{?}", "<?>", "?: ", "?=", "?_", "?+, ", "?\t",
	"  ?", "    ?\n", "*? ", "#? ", "?? ", "漢?", "ń?", "?ń ", "か?", "中?", "あ?", "国? ", "가?", "я?", "?é", "й ? ", "? - ? ", "?'", "$?", "?%, ", "?\\", "x? ", "?9 ", "é ?.",
}

const (
	oddTarget, oddLeast = 0.9, 0.72
	oddShort, oddBeyond = 2, 0.02
)

func oddRows(rng *rand.Rand) []row {
	var rows []row
	for _, unit := range oddities {
		for _, letters := range []string{"ABCDEFGHIJKLMNOPQRSTUVWXYZ", "ABCDEFGHILMNOPRSTU", "abcdefghijklmnopqrstuvwxyz", "0123456789"} {
			var b strings.Builder
			for range 200 {
				for _, r := range unit {
					switch r {
					case '?':
						r = rune(letters[rng.IntN(len(letters))])
					case '漢':
						r = '\u4e00' + rune(rng.IntN(5000))
					case 'ń':
						r = 'À' + rune(rng.IntN(0xc0))
					case 'か':
						r = '\u3041' + rune(rng.IntN(80))
					}
					b.WriteRune(r)
				}
			}
			r := newRow("odd "+strconv.Quote(unit), b.String(), oddTarget, oddShort, oddBeyond)
			r.least = oddLeast
			rows = append(rows, r)
		}
	}
	return rows
}

func trainingRows(dir string) ([]row, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := generated(rng)
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		texts[strings.TrimSuffix(filepath.Base(file), ".txt")] = string(text)
	}
	texts["json"] = jsonRows(rng, texts["prose"], texts["code"])
	var rows []row
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		t, ok := targets[name]
		if !ok {
			return nil, fmt.Errorf("no target for %q", name)
		}
		for range piecesPerText {
			rows = append(rows, newRow(name, cut(rng, texts[name]), t.target, shortWeight*t.weight, t.weight))
		}
	}
	return slices.Concat(rows, scriptRows(rng), hanRows(rng), oddRows(rng), cycleRows()), nil
}

// cut takes a random stretch of 300 to 1,500 bytes.
func cut(rng *rand.Rand, text string) string {
	n := min(300+rng.IntN(1200), len(text)/2)
	start := rng.IntN(len(text) - n)
	end := start + n
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	return text[start:end]
}

// Random characters are nobody's text, but rare scripts look like them to the vocabulary.
const (
	scriptTarget              = 0.8
	scriptShort, scriptBeyond = 3, 0.002
)

// scriptRows are random characters of every script, and of every block of 64 characters
// (of 4,096 from U+10000 on).
func scriptRows(rng *rand.Rand) []row {
	var rows []row
	for _, set := range characterSets() {
		target, spaced := scriptTarget, scriptTarget
		switch first := set.chars[0]; {
		case unicode.Is(unicode.Hangul, first):
			target, spaced = scriptTarget-0.05, 0.38 // its rare syllables stand inside words
		case first >= '\u4e00' && first < '\ua000':
			target -= 0.05 // Han, whose frequent characters have no blocks of their own
		}
		for range 2 {
			s := random(rng, set.chars, 300)
			rows = append(rows, scriptRow(set.name, s, target), scriptRow(set.name, strings.Join(strings.Split(s, ""), " "), spaced))
		}
	}
	return rows
}

// A frequent Han character should count as a token, in most texts a little more than it
// does: other vocabularies than o200k_base have fewer words.
const hanTarget, hanLeast = 1.07, 1.05

func hanRows(rng *rand.Rand) []row {
	frequent := slices.DeleteFunc(blockOf(0x4e00, 0x5200), func(c rune) bool { return rare[c] })
	var rows []row
	for range 20 {
		r := newRow("frequent", random(rng, frequent, 300), hanTarget, scriptShort, scriptBeyond)
		r.least = hanLeast
		rows = append(rows, r)
	}
	return rows
}

// A characterSet is a script or a block; it has at least one character.
type characterSet struct {
	name  string
	chars []rune
}

func characterSets() []characterSet {
	var sets []characterSet
	for _, name := range slices.Sorted(maps.Keys(unicode.Scripts)) {
		sets = append(sets, characterSet{name, charactersOf(unicode.Scripts[name])})
	}
	block := func(from, size rune) {
		if set := blockOf(from, size); len(set) > 0 {
			sets = append(sets, characterSet{fmt.Sprintf("U+%04X", from), set})
		}
	}
	for c := rune(utf8.RuneSelf); c < 0x10000; c += 64 {
		block(c, 64)
	}
	for c := rune(0x10000); c <= unicode.MaxRune; c += 4096 {
		block(c, 4096)
	}
	block(0x3400, 0x19c0)
	block(0x4e00, 0x5200)
	block(0xac00, 0x2ba4)
	return sets
}

func charactersOf(t *unicode.RangeTable) []rune {
	var set []rune
	for _, r := range t.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			set = append(set, c)
		}
	}
	for _, r := range t.R32 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			set = append(set, c)
		}
	}
	return set
}

// blockOf returns the assigned characters of a block, of one without any the unassigned
// ones.
func blockOf(from, size rune) []rune {
	var set, unassigned []rune
	for c := from; c < from+size; c++ {
		switch {
		case unicode.In(c, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Zs, unicode.Cf, unicode.Co):
			set = append(set, c)
		case utf8.ValidRune(c):
			unassigned = append(unassigned, c)
		}
	}
	if len(set) == 0 {
		return unassigned
	}
	return set
}

func scriptRow(name, s string, target float64) row {
	r := newRow("script "+name, s, target, scriptShort, scriptBeyond)
	r.least = target - 0.04
	return r
}

const (
	cycleTarget, cycleLeast = 0.56, 0.52
	bareTarget, bareLeast   = 0.36, 0.32
	cycleShort, cycleBeyond = 1, 0
	cycleRepeats            = 40
)

// cycleAlphabet has characters of every class, cheap and dear ones.
const (
	cycleAlphabet = asciiAlphabet + cheapAlphabet + "ßΩЯыאمبچअአაạ→、アン國힣Ａﷺ"
	asciiAlphabet = "aetnpgkyANTKZ05 \n\t\"'([{<})],;.:!?/\\-=+*#$_\x01"
	cheapAlphabet = "éωяשاक“あ中가😀"
)

// cycleRows are repetitions of one, two and three characters. Those with the same costs
// are one row, the dearest. What the blocks of longer characters cost beyond the pair
// must not carry it all: others of the class may cost nothing beyond it.
func cycleRows() []row {
	alphabet := []rune(cycleAlphabet)
	best, exact := map[string]string{}, map[string]int{}
	add := func(unit ...rune) {
		s := strings.Repeat(string(unit), cycleRepeats)
		if len(unit) == 1 {
			s = strings.Repeat(s, 10) // a long run may have long tokens
		}
		key, n := cycleKey(unit), bpe.O200kBase().Count(s)
		if n > exact[key] {
			exact[key], best[key] = n, s
		}
	}
	for _, a := range alphabet {
		add(a)
		for _, b := range alphabet {
			add(a, b)
			for _, c := range alphabet {
				add(a, b, c)
			}
		}
	}
	add('\r', '\n')
	for b := range rune(utf8.RuneSelf) {
		if canRun(classOf[b]) {
			add(b)
		}
	}
	rows := make([]row, 0, 2*len(best))
	for _, key := range slices.Sorted(maps.Keys(best)) {
		name := fmt.Sprintf("cycles %.8q", best[key])
		last, _ := utf8.DecodeLastRuneInString(best[key])
		r := newRowAfter(last, name, best[key], cycleTarget, cycleShort, cycleBeyond)
		r.least = cycleLeast
		rows = append(rows, r)
		bare := newRowAfter(last, name, best[key], bareTarget, cycleShort, cycleBeyond)
		bare.share = slices.DeleteFunc(bare.share, func(s share) bool { return s.cost >= seconds && s.cost < runs })
		bare.least = bareLeast
		if len(bare.share) < len(r.share) && strings.Trim(best[key], asciiAlphabet+cheapAlphabet) == "" {
			rows = append(rows, bare)
		}
	}
	return rows
}

// cycleKey names the costs of a repetition, the same for each rotation.
func cycleKey(unit []rune) string {
	if len(unit) == 1 {
		return string(unit) // a run has costs of its own
	}
	parts := make([]string, len(unit))
	for i, r := range unit {
		s := string(r)
		parts[i] = fmt.Sprintf("%d ", classOf[s[0]])
		switch {
		case len(s) > 1:
			parts[i] = fmt.Sprintf("%x ", s)
		case r == unit[(i+len(unit)-1)%len(unit)]:
			parts[i] = fmt.Sprintf("%d again ", classOf[s[0]])
		}
	}
	best := ""
	for i := range parts {
		rotated := strings.Join(parts[i:], "") + strings.Join(parts[:i], "")
		if best == "" || rotated < best {
			best = rotated
		}
	}
	return best
}
