package bpe_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"
)

// benchChunk is what one call counts: about the size of a large tool result.
const benchChunk = 16 << 10

// A rival is another library's counter.
type rival struct {
	name  string
	count func(s string) int
}

func rivals(b *testing.B, p oraclePair) []rival {
	b.Helper()
	codec, err := tokenizer.Get(tokenizer.Encoding(p.name))
	require.NoError(b, err)
	return []rival{
		{"pkoukk", func(s string) int { return len(p.want.Encode(s, nil, nil)) }},
		{"tokenizer", func(s string) int {
			n, err := codec.Count(s)
			if err != nil {
				return -1
			}
			return n
		}},
	}
}

// BenchmarkLibraries counts the same chunk with this package and with two others, in
// turns, and reports the best speed of each: the machine may be busy, and the ratio is
// what counts.
func BenchmarkLibraries(b *testing.B) {
	texts := benchTexts(b)
	names := make([]string, 0, len(texts))
	for name := range texts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, p := range mustOracles(b) {
		others := rivals(b, p)
		for _, name := range names {
			s := texts[name]
			b.Run(p.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(s)))
				for b.Loop() {
					p.ours.Count(s)
				}
				b.StopTimer()
				want := p.ours.Count(s)
				best := make([]time.Duration, 1+len(others))
				for range 7 {
					record(&best[0], func() { p.ours.Count(s) })
					for i, r := range others {
						record(&best[i+1], func() { require.Equal(b, want, r.count(s)) })
					}
				}
				speed := func(d time.Duration) float64 { return float64(len(s)) / 1e6 / d.Seconds() }
				b.ReportMetric(speed(best[0]), "best-MB/s")
				fastest := 0.0
				for i, r := range others {
					b.ReportMetric(speed(best[i+1]), r.name+"-MB/s")
					b.ReportMetric(testing.AllocsPerRun(1, func() { r.count(s) }), r.name+"-allocs")
					fastest = max(fastest, speed(best[i+1]))
				}
				b.ReportMetric(speed(best[0])/fastest, "x-faster")
			})
		}
	}
}

// record keeps the shortest time.
func record(best *time.Duration, f func()) {
	start := time.Now()
	f()
	if d := time.Since(start); *best == 0 || d < *best {
		*best = d
	}
}

func benchTexts(b *testing.B) map[string]string {
	b.Helper()
	texts := map[string]string{}
	for name, s := range corpus(b) {
		texts[name] = fill(s)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	raw := make([]byte, benchChunk)
	for i := range raw {
		raw[i] = byte(rng.Uint32())
	}
	var rows, digits, indent, emoji strings.Builder
	for i := range 400 {
		fmt.Fprintf(&rows, `{"type":"message","id":"%08x","parentId":null,"timestamp":"2026-03-08T12:%02d:%02d.%03dZ","message":{"role":"user","content":[{"type":"text","text":%q}]}}`+"\n", i*2654435761%(1<<32), i/60, i%60, i*7%1000, texts["prose"][i*20:i*20+200])
		fmt.Fprintf(&digits, "%d,%d,%d\n", i*7919, i*104729%100000, i)
		fmt.Fprintf(&indent, "%s- item %d\n", strings.Repeat(" ", i*7%40), i)
		emoji.WriteString(string(0x1f600+rune(i%80)) + string(0x1f680+rune(i%60)) + " ")
	}
	texts["json"] = fill(rows.String())
	texts["digits"] = fill(digits.String())
	texts["indent"] = fill(indent.String())
	texts["emoji"] = fill(emoji.String())
	texts["base64"] = fill(base64.StdEncoding.EncodeToString(raw))
	texts["hex"] = fill(hex.Dump(raw))
	return texts
}

// fill repeats s up to one chunk.
func fill(s string) string {
	s = strings.Repeat(s, benchChunk/len(s)+1)
	return strings.ToValidUTF8(s[:benchChunk], "")
}

// BenchmarkSlowTexts counts a megabyte of what counts slowest.
func BenchmarkSlowTexts(b *testing.B) {
	for name, s := range slowTexts(1 << 20) {
		for _, p := range mustOracles(b) {
			b.Run(p.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(s)))
				for b.Loop() {
					p.ours.Count(s)
				}
			})
		}
	}
}
