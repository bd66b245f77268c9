package tokens

import "unicode/utf8"

//go:generate go run fitscript.go fitrows.go fittexts.go fitrender.go

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
	// afterLetters is the first class after those of small letters.
	afterLetters = 4
	// digitClass is the class of digits, of which every digitGroup make a token. Where one
	// begins, digitGroupCost comes on top of the pair, in 1/unitsPerToken: so much that long
	// numbers count near their exact cost, and short ones, which the pairs were fitted to, as
	// before.
	digitClass, digitGroup, digitGroupCost = 4, 3, 24
	// threeBytes is the least leading byte of characters of three bytes. Their third bytes have
	// costs too after 0xE0, from thirdBytes on, and those of emoji, from emojiBytes on.
	threeBytes = 0xe0
	thirdBytes = 64 * blockSize
	emojiBytes = thirdBytes + blockSize/2*blockSize
)

// scriptTokens adds up what each character costs after the one before it. That is
// enough to tell where tokens begin: at a blank but not after it, where the case
// changes, and between letters that rarely meet in words. Four things need more than
// that:
//
//   - A run of blanks or signs is about one token, however long.
//   - Every third digit of a number begins one.
//   - A run of small letters that is longer than words are has more of them than a word.
//   - The second byte of a character, for some the third too, tells a rare script from the
//     one that most text with this leading byte is in, and a bit for each character whether
//     the vocabulary has it.
//
// It is one loop, because a call for each character costs a quarter of the speed.
func scriptTokens(s string) int {
	if s == "" {
		return 0
	}
	units, row, before := 0, uint(startClass*classCount), byte(0)
	digits, long := 0, longWord // after the first of a number; where a word gets too long
	for i := 0; i < len(s); i++ {
		b := s[i]
		c := uint(byteClasses[b])
		cost := int(pairCosts[(row|c)%(classCount*classCount)])
		if c < afterLetters {
			if i >= long {
				cost += longWordCost
			}
			units += cost
			row, before = c*classCount, b
			continue
		}
		long = i + 1 + longWord
		if b == before && row == insideClass*classCount { // a run goes on
			units += int(runCosts[b])
			continue
		}
		if b < utf8.RuneSelf {
			switch {
			case c == digitClass:
				if row != digitClass*classCount {
					digits = 0
				} else if digits++; digits == digitGroup {
					digits, cost = 0, cost+digitGroupCost
				}
			case b == before && runCosts[b] > 0:
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
		if b < threeBytes {
			if !utf8.RuneStart(s[i+1]) {
				units += int(pairCosts[(row|insideClass)%(classCount*classCount)])
				i++
			}
			continue
		}
		if i+2 >= len(s) {
			continue
		}
		units += thirdCost(uint(b-threeBytes), second, uint(s[i+2])%blockSize)
		if !utf8.RuneStart(s[i+1]) && !utf8.RuneStart(s[i+2]) {
			units += 2 * int(pairCosts[(row|insideClass)%(classCount*classCount)])
			i += 2
		}
	}
	return max(1, ceilDiv(units, unitsPerToken))
}

// thirdCost is what the third byte of a character adds, by how much the leading byte is above
// threeBytes, and the second and third byte.
func thirdCost(lead, second, third uint) int {
	const indic, emoji, emojiSecond = 0xe0 - threeBytes, 0xf0 - threeBytes, 0x9f % blockSize
	switch {
	case lead == indic:
		return int(blockCosts[thirdBytes+second%(blockSize/2)*blockSize+third])
	case lead < emoji:
		c := lead<<12 | second<<6 | third
		return int(rareCosts[lead]) * int(rareCharacters[c/8]>>(c%8)&1)
	case lead == emoji && second == emojiSecond:
		return int(blockCosts[emojiBytes+third])
	}
	return 0
}
