package transcript_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-contextengine/contextengine/transcript"
)

// paragraph is about the size of an average message.
var paragraph = strings.Repeat("The quick brown fox jumps over the lazy dog, \"again\" and again.\n", 8)

func benchSizes(b *testing.B, run func(b *testing.B, path string)) {
	for _, n := range []int{1_000, 20_000, 100_000} {
		b.Run(fmt.Sprintf("%dk", n/1000), func(b *testing.B) {
			path := longSession(b, n, paragraph)
			b.ReportAllocs()
			b.ResetTimer()
			run(b, path)
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	benchSizes(b, func(b *testing.B, path string) {
		log := openLog(b, path, nil)
		viewOf(b, log)
		b.ResetTimer()
		for b.Loop() {
			if _, err := log.Append(b.Context(), user(paragraph)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkAppendSyncEntry(b *testing.B) {
	path := longSession(b, 1_000, paragraph)
	log := openLog(b, path, &transcript.DirOptions{Sync: transcript.SyncEntry})
	for b.Loop() {
		if _, err := log.Append(b.Context(), user(paragraph)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	benchSizes(b, func(b *testing.B, path string) {
		for b.Loop() {
			log, err := transcript.OpenFile(path, nil)
			if err != nil {
				b.Fatal(err)
			}
			_ = log.Close()
		}
	})
}

func BenchmarkOpenAndView(b *testing.B) {
	benchSizes(b, func(b *testing.B, path string) {
		for b.Loop() {
			log, err := transcript.OpenFile(path, nil)
			if err != nil {
				b.Fatal(err)
			}
			viewOf(b, log)
			_ = log.Close()
		}
	})
}

func BenchmarkView(b *testing.B) {
	benchSizes(b, func(b *testing.B, path string) {
		log := openLog(b, path, nil)
		viewOf(b, log)
		b.ResetTimer()
		for b.Loop() {
			viewOf(b, log)
		}
	})
}

func BenchmarkRewrite(b *testing.B) {
	benchSizes(b, func(b *testing.B, path string) {
		log := openLog(b, path, nil)
		v := viewOf(b, log)
		key := v.Messages[len(v.Messages)-50].Key
		b.ResetTimer()
		n := 0
		for b.Loop() {
			n++
			swap(b, log, key, fmt.Sprint("version ", n))
		}
	})
}

// BenchmarkOpen100MB opens a session of 100 MB, all of it on the active branch, and builds its view.
func BenchmarkOpen100MB(b *testing.B) {
	path := filepath.Join(b.TempDir(), "s.jsonl")
	writeBig(b, path, 100<<20)
	b.ReportAllocs()
	for b.Loop() {
		log, err := transcript.OpenFile(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		viewOf(b, log)
		_ = log.Close()
	}
}
