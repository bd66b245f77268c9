package host_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// What the driver itself costs: a turn of a long session with legacy, in memory, and a
// model that answers at once.
func BenchmarkTurn(b *testing.B) {
	for _, rows := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("%d messages", rows), func(b *testing.B) {
			store := transcript.NewMemory()
			log, err := store.Create(b.Context(), transcript.Header{ID: "s"})
			require.NoError(b, err)
			entries := make([]transcript.Entry, rows)
			for i := range entries {
				m := message.User(fmt.Sprint(i, strings.Repeat(" why so", 20)))
				if i%2 == 1 {
					m = message.Assistant(message.Text(fmt.Sprint(i, strings.Repeat(" because", 40))))
				}
				entries[i] = transcript.MessageEntry(m)
			}
			_, err = log.Append(b.Context(), entries...)
			require.NoError(b, err)
			require.NoError(b, log.Close())
			h, err := host.New(store, &host.Options{Model: hosttest.Always(hosttest.Reply("yes"))})
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.Run(b.Context(), ref("s"), message.User("and now?"), nil); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, h.Close(b.Context()))
		})
	}
}
