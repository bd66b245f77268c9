package bpe

import (
	"runtime"
	"testing"
	"time"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"
)

// BenchmarkInit makes each library's o200k_base once and reports the time and the live
// heap that it takes. It needs a process in which none of them was used before.
func BenchmarkInit(b *testing.B) {
	for name, make := range map[string]func() any{
		"ours": func() any { return newEncoding("o200k_base", o200kPacked, nextO200k) },
		"pkoukk": func() any {
			tiktoken.SetBpeLoader(loader.NewOfflineLoader())
			e, err := tiktoken.GetEncoding("o200k_base")
			require.NoError(b, err)
			return e
		},
		"tokenizer": func() any {
			e, err := tokenizer.Get(tokenizer.O200kBase)
			require.NoError(b, err)
			return e
		},
	} {
		var took time.Duration
		var heap float64
		var objects uint64
		b.Run(name, func(b *testing.B) {
			if took == 0 {
				before := liveHeap()
				start := time.Now()
				made := make()
				took = time.Since(start)
				after := liveHeap()
				heap = float64(after.HeapAlloc) - float64(before.HeapAlloc)
				objects = after.HeapObjects - before.HeapObjects
				runtime.KeepAlive(made)
			}
			for b.Loop() { // the first call is what is measured
			}
			b.ReportMetric(float64(took.Microseconds())/1000, "init-ms")
			b.ReportMetric(heap/1e6, "heap-MB")
			b.ReportMetric(float64(objects), "heap-objects")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func liveHeap() runtime.MemStats {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m
}
