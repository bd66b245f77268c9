package transcript_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// The test binary run with this variable is a process that writes: "job dir".
const childEnv = "TRANSCRIPT_TEST_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childEnv); job != "" {
		name, dir, _ := strings.Cut(job, " ")
		if err := runChild(name, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// startChild starts a process that does a job in dir and says on its output what it has done.
func startChild(t testing.TB, job, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), childEnv+"="+job+" "+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

func runChild(job, dir string) error {
	ctx := context.Background()
	st, err := transcript.OpenDir(dir, nil)
	if err != nil {
		return err
	}
	log, err := st.Open(ctx, "s")
	if err != nil {
		return err
	}
	kind, n, _ := strings.Cut(job, ":")
	count, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	switch kind {
	case "append":
		return childAppends(ctx, log, count)
	case "churn":
		return childChurns(ctx, log, count)
	}
	return fmt.Errorf("unknown job %q", job)
}

// childAppends appends count entries.
func childAppends(ctx context.Context, log transcript.Log, count int) error {
	for i := range count {
		out, err := log.Append(ctx, user(fmt.Sprintf("%d of %d", i, os.Getpid())))
		if err != nil {
			return err
		}
		fmt.Println(out[0].ID)
	}
	return log.Close()
}

// childChurns appends and rewrites until it is killed, and says what it does as account takes it.
func childChurns(ctx context.Context, log transcript.Log, round int) error {
	filling := strings.Repeat("filling ", 2_000)
	for i := 0; ; i++ {
		one, two := fmt.Sprintf("r%d-%d-a", round, i), fmt.Sprintf("r%d-%d-b", round, i)
		if _, err := log.Append(ctx, user(one), assistant(filling), user(two)); err != nil {
			return err
		}
		fmt.Printf("+ %s\n+ %s\n", one, two)
		if i%3 != 2 {
			continue
		}
		v, err := log.View(ctx)
		if err != nil {
			return err
		}
		old, text := v.Messages[max(0, len(v.Messages)-9)], fmt.Sprintf("first r%d-%d", round, i)
		fmt.Printf("? %s\n", old.Text())
		if _, err := log.Rewrite(ctx, transcript.RewriteRequest{Generation: v.Generation, Replacements: []transcript.Replacement{
			{EntryID: old.Key, Message: message.User(text)},
		}}); err != nil {
			return err
		}
		fmt.Printf("~ %s\t%s\n", old.Text(), text)
	}
}
