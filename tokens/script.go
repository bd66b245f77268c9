package tokens

import "unicode/utf8"

//go:generate go run fitscript.go fitrows.go

// ScriptAware is the default Estimator: it needs no vocabulary, reads a text once at
// about a gigabyte a second, and is rather high than low for text in every script.
//
//   - Against exact o200k_base counts it gives 0.9 to 1.35 for nine tenths of the
//     texts of a few hundred bytes in prose, code, JSON, Russian and Arabic, and 0.9 to
//     1.8 in Chinese, Japanese, Korean, Thai, emoji, base64 and hexadecimal.
//   - What is hardly text may count lower, but is never lost: random characters of any
//     script count at least 0.7 of what they should, and two or three characters
//     repeated without end half of it, a few rare letters excepted.
//   - It is monotone: appending to a text never lowers its count.
//   - Models with other vocabularies count up to a third more; see [Calibration].
//
// Messages are framed as [Framed] says.
func ScriptAware() Estimator { return Framed(scriptTokens) }

const (
	// unitsPerToken is the fixed-point scale of pairCosts.
	unitsPerToken = 64
	classCount    = 32
	// insideClass is the class of bytes inside a character. Nothing comes after it, so
	// its row is for what comes after a run: two or more of one blank or sign.
	insideClass = 29
	// startClass is what a text seems to come after.
	startClass = 6
	// firstLead is the least leading byte of a longer character, blockSize how many bytes
	// may follow one.
	firstLead, blockSize = 0xc0, 64
	// digitClass is the class of digits, of which every digitGroup make a token. Where one
	// begins, digitGroupCost comes on top of the pair, in 1/unitsPerToken: so much that long
	// numbers count near their exact cost, and short ones, which the pairs were fitted to, as
	// before.
	digitClass, digitGroup, digitGroupCost = 4, 3, 24
	// indicLead is the leading byte whose third bytes have costs too, from thirdBytes on;
	// those of emoji, which begin with emojiLead and emojiSecond, stand at emojiBytes.
	indicLead, thirdBytes              = 0xe0, 64 * blockSize
	emojiLead, emojiSecond, emojiBytes = 0xf0, 0x9f, thirdBytes + blockSize/2*blockSize
)

// scriptTokens adds up what each character costs after the one before it. That is
// enough to tell where tokens begin: at a blank but not after it, where the case
// changes, and between letters that rarely meet in words. Three things need more than
// that: a run of blanks or signs is about one token, however long; every third digit of
// a number begins one; and the second byte of a character, for some the third too,
// tells a rare script from the one that most text with this leading byte is in, and
// whether the vocabulary has the character a frequent character from a rare one.
func scriptTokens(s string) int {
	if s == "" {
		return 0
	}
	units, row, before := 0, uint(startClass*classCount), byte(0)
	digits := 0 // after the first of a number
	for i := 0; i < len(s); i++ {
		b := s[i]
		c := uint(byteClasses[b])
		cost := int(pairCosts[(row|c)%(classCount*classCount)])
		if b < utf8.RuneSelf {
			switch {
			case c == digitClass:
				if row != digitClass*classCount {
					digits = 0
				} else if digits++; digits == digitGroup {
					digits, cost = 0, cost+digitGroupCost
				}
			case b == before && runCosts[b] > 0:
				if row == insideClass*classCount {
					cost = int(runCosts[b])
				}
				c = insideClass
			}
			units += cost
			row, before = c*classCount, b
			continue
		}
		units += cost
		if c == insideClass {
			continue
		}
		row, before = c*classCount, b
		if i+1 >= len(s) {
			break
		}
		second := uint(s[i+1]) % blockSize
		units += int(blockCosts[uint(b-firstLead)*blockSize|second])
		if b < indicLead || i+2 >= len(s) {
			continue
		}
		third := uint(s[i+2]) % blockSize
		switch {
		case b == indicLead:
			units += int(blockCosts[thirdBytes+second%(blockSize/2)*blockSize+third])
		case b == emojiLead && s[i+1] == emojiSecond:
			units += int(blockCosts[emojiBytes+third])
		}
		if c := uint(b-indicLead)<<12 | second<<6 | third; b < emojiLead && rareCharacters[c/8]>>(c%8)&1 == 1 {
			units += int(rareCosts[b-indicLead])
		}
		if !utf8.RuneStart(s[i+1]) && !utf8.RuneStart(s[i+2]) {
			units += 2 * int(pairCosts[(row|insideClass)%(classCount*classCount)])
			i += 2
		}
	}
	return max(1, ceilDiv(units, unitsPerToken))
}
