package transcript_test

import (
	"context"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

type nothing struct{}

func (nothing) Load(context.Context, string) ([]message.Message, error) { return nil, fs.ErrNotExist }

func (nothing) Append(context.Context, string, ...message.Message) error {
	return nil
}

// A store that reads a session once does not say that it follows it.
func TestFollower(t *testing.T) {
	t.Parallel()
	dir, err := transcript.OpenDir(t.TempDir(), nil)
	require.NoError(t, err)
	for _, st := range []transcript.Store{dir, transcript.NewMemory()} {
		f, ok := st.(transcript.Follower)
		require.True(t, ok)
		require.True(t, f.Follows())
	}
	_, ok := transcript.FromHistory(nothing{}).(transcript.Follower)
	require.False(t, ok)
}
