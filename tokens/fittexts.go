//go:build ignore

package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// generated is the data among the texts, by the names of targets.
func generated(rng *rand.Rand) map[string]string {
	raw := make([]byte, 8000)
	for i := range raw {
		raw[i] = byte(rng.Uint32())
	}
	var numbers, emoji, names strings.Builder
	faces := [][2]rune{{0x1f300, 0x1f320}, {0x1f400, 0x1f43f}, {0x1f600, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f90c, 0x1f9ff}, {0x2600, 0x2615}, {0x2700, 0x2716}}
	for i := range 1500 {
		fmt.Fprintf(&numbers, []string{"%d,", "%d ", "0.%d\n", "[%d, ", "%d:", "-%d\t", "$%d.00 ", "(%d)"}[rng.IntN(8)], rng.IntN(1<<(1+rng.IntN(20))))
		f := faces[rng.IntN(len(faces))]
		emoji.WriteRune(f[0] + rune(rng.IntN(int(f[1]-f[0]))))
		emoji.WriteString([]string{"", "", "", "", "", "\u200d", "\ufe0f", " ", " ", "\n"}[rng.IntN(10)])
		fmt.Fprintf(&names, "%s_%x-%d.%s", []string{"item", "userId", "HTTP", "max_size", "getValue", "SRC"}[rng.IntN(6)], rng.Uint32()>>rng.IntN(32), i, []string{"go\n", "json ", "tar.gz\n", "md, ", "py: "}[rng.IntN(5)])
	}
	return map[string]string{
		"base64": base64.StdEncoding.EncodeToString(raw), "hex": hex.EncodeToString(raw), "hexdump": hex.Dump(raw),
		"numbers": numbers.String(), "emoji": emoji.String(), "names": names.String(),
		"faces":    random(rng, []rune("😀😁😂😄😅😉😊😍😎😢😭😡😴🤔🙂🙃🙄🙏👀👌👍👎👏💔💙💥💪📌📝🔒🔔🎯🎁🏆🌟🌱🐛🐍☀☕✅❌❗⭐❤\ufe0f\ufe0f"), 3000),
		"capitals": random(rng, []rune("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 6000), "letters": random(rng, []rune("abcdefghijklmnopqrstuvwxyz"), 6000),
	}
}

// jsonRows is a log of messages as programs write them.
func jsonRows(rng *rand.Rand, prose, code string) string {
	var b strings.Builder
	for i := range 60 {
		text := cut(rng, prose)
		if i%3 == 0 {
			text = cut(rng, code)
		}
		fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":"%08x","timestamp":"2026-03-%02dT12:%02d:%02d.%03dZ","message":{"role":"assistant","content":[{"type":"text","text":%s},{"type":"toolCall","id":"call_%024d","name":"read_file","arguments":{"path":"src/module_%d/file.go","limit":2000}}],"usage":{"input":%d,"output":%d,"cacheRead":0},"stopReason":null,"timestamp":%d}}`+"\n",
			rng.Uint32(), rng.Uint32(), 1+rng.IntN(28), rng.IntN(60), rng.IntN(60), rng.IntN(1000), strconv.Quote(text[:min(len(text), 320)]), i, i, rng.IntN(100_000), rng.IntN(4000), 1_770_000_000_000+rng.IntN(10_000_000_000))
	}
	return b.String()
}

func random(rng *rand.Rand, alphabet []rune, n int) string {
	out := make([]rune, n)
	for i := range out {
		out[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(out)
}
