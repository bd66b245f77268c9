package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// samples are the sample sessions, seen from this package. The first is written by
// examples/quickstart, the second here.
var (
	firstSample  = filepath.Join("..", "..", "testdata", "sessions", "sample.jsonl")
	secondSample = filepath.Join("..", "..", "testdata", "sessions", "long-loops.jsonl")
)

var update = flag.Bool("update", false, "write testdata/sessions/long-loops.jsonl again")

// The second sample is what the first is not: few asks, each followed by a long loop of
// calls whose output is most of the session. The test may write the file that others read,
// so it is not parallel.
func TestSecondSampleIsWhatTheGeneratorWrites(t *testing.T) {
	want := writeSample()
	if *update {
		require.NoError(t, os.WriteFile(secondSample, want, 0o644))
	}
	got, err := os.ReadFile(secondSample)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "%s is not what the generator writes: go test -update ./examples/compaction", secondSample)
	require.Greater(t, bytes.Count(got, []byte("\n")), 300)
}

// A chore is one package that the session moves to structured logging.
type chore struct {
	name  string
	lines int  // log calls in it
	fails bool // the first test run fails
}

// chores returns the work of one turn.
func chores(turn int) []chore {
	all := []string{
		"berth", "capacity", "checkin", "crew", "delay", "deck",
		"export", "fare", "forecast", "gangway", "harbour", "ingest",
		"lane", "loyalty", "manifest", "notify", "outbox", "payment",
		"quote", "reroute", "season", "tariff", "timetable", "vessel",
	}
	const perTurn = 6
	var out []chore
	for i, name := range all[turn*perTurn : (turn+1)*perTurn] {
		out = append(out, chore{name: name, lines: 3 + (i*5+turn*3)%9, fails: (i+turn)%3 == 1})
	}
	return out
}

func writeSample() []byte {
	s := &scribe{now: time.Date(2026, time.April, 14, 9, 30, 0, 0, time.UTC)}
	s.line(map[string]any{
		"type": "session", "version": 3, "id": "019d8b51-7e40-7c02-8f6a-2b90c4d1e377", "timestamp": s.stamp(), "cwd": "/srv/ferryline",
	})
	s.row("session_info", map[string]any{"name": "ferryline: structured logging"})
	s.row("model_change", map[string]any{"provider": "example", "modelId": "atlas-large"})
	asks := []string{
		"Move the packages under internal/ from log.Printf to slog, package by package. Every record needs the key booking_id where one is at hand. Never log card numbers: pay attention to internal/payment. Start with the first six and run the tests of each.",
		"Good. The operators read the logs with jq, so levels must be lower case; ticket OPS-20417 has the format. Do the next six, and keep the text of messages as it is: alerts match on it.",
		"Weiter mit den nächsten sechs. In internal/outbox bitte zusätzlich die Laufzeit in Millisekunden protokollieren, der Grenzwert ist 750 ms. Der Testserver ist log-test.ferryline.example:6514.",
		"Now the rest. When it is done, set LOG_FORMAT=json in deploy/prod.env and tell me the number of calls that were moved. Release is v4.18.0 on 2026-04-21.",
	}
	moved := 0
	for turn, ask := range asks {
		s.now = s.now.Add(47 * time.Minute)
		s.message(map[string]any{"role": "user", "content": ask})
		for _, c := range chores(turn) {
			s.chore(c)
			moved += c.lines
		}
		s.endTurn(turn, moved)
	}
	return s.out.Bytes()
}

// chore is the loop of one package: look, read, edit, test, and again where that failed.
func (s *scribe) chore(c chore) {
	dir := "internal/" + c.name
	file := dir + "/" + c.name + ".go"
	s.calls(fmt.Sprintf("Next is %s.", dir),
		step{"grep", map[string]any{"pattern": `log\.Print`, "path": dir}, grepOutput(file, c), false},
		step{"read", map[string]any{"path": file}, source(c), false})
	s.calls("", step{
		"edit",
		map[string]any{"path": file, "oldText": `log.Printf("` + c.name, "newText": `slog.InfoContext(ctx, "` + c.name},
		fmt.Sprintf("Replaced %d blocks in %s.", c.lines, file), false,
	})
	s.calls("", step{"bash", map[string]any{"command": "gofmt -l " + dir, "timeoutMs": 10000}, "", false})
	test := map[string]any{"command": "go test ./" + dir + "/...", "timeoutMs": 120000}
	if c.fails {
		s.calls("", step{"bash", test, testFailure(c), true})
		s.calls(fmt.Sprintf("The root cause is in %s_test.go: it compares the whole line, and the time is in front of it now. I will compare the message alone.", c.name),
			step{"edit", map[string]any{"path": dir + "/" + c.name + "_test.go", "oldText": "require.Equal(t, want, line)", "newText": "require.Equal(t, want, record.Message)"}, "Replaced 1 block.", false})
	}
	s.calls("", step{"bash", test, fmt.Sprintf("ok  \tferryline/%s\t0.0%02ds\n", dir, 11+c.lines), false})
	s.calls("", step{
		"bash",
		map[string]any{"command": "git commit -qam 'internal/" + c.name + ": slog' && git show --stat --format=%h", "timeoutMs": 10000},
		fmt.Sprintf("%s\n\n %s | %d %s\n 1 file changed\n", s.hash(c.name), file, 2*c.lines, strings.Repeat("+-", c.lines)), false,
	})
}

// endTurn is what the model answers, and what happened beside the conversation.
func (s *scribe) endTurn(turn, moved int) {
	switch turn {
	case 0:
		s.say(fmt.Sprintf("The first six are moved, %d calls so far, all tests pass. We decided to keep one logger per package in a variable named `logger`. `internal/checkin` had a call that printed a passport number; I removed the argument.", moved))
		s.message(map[string]any{
			"role": "bashExecution", "command": "git log --oneline -1", "output": "5be91c07 internal/*: slog, part 1\n",
			"exitCode": 0, "cancelled": false, "truncated": false,
		})
	case 1:
		s.say(fmt.Sprintf("Twelve packages are done, %d calls. Levels are written in lower case by a ReplaceAttr function in internal/logging/level.go, as OPS-20417 wants it. Messages are unchanged.", moved))
	case 2:
		// The run is stopped in the middle of a call.
		s.message(s.assistant("aborted", map[string]any{
			"type": "toolCall", "id": s.callID(0), "name": "bash",
			"arguments": map[string]any{"command": "go vet ./...", "timeoutMs": 600000},
		}))
		s.message(map[string]any{"role": "user", "content": "Stop, vet is not needed here; CI runs it as job vet-all-3318. Just tell me where you are."})
		s.say(fmt.Sprintf("Achtzehn Pakete sind umgestellt, %d Aufrufe. internal/outbox schreibt die Laufzeit als duration_ms und warnt ab 750 ms.", moved))
	default:
		s.calls("", step{"edit", map[string]any{"path": "deploy/prod.env", "oldText": "LOG_FORMAT=text", "newText": "LOG_FORMAT=json"}, "Replaced 1 block in deploy/prod.env.", false})
		s.say(fmt.Sprintf("Everything is moved: %d calls in 24 packages. deploy/prod.env has LOG_FORMAT=json for v4.18.0. Open: internal/payment masks card numbers by hand; I would move that to a type with a LogValue method after 2026-04-21.", moved))
	}
}

func grepOutput(file string, c chore) string {
	var b strings.Builder
	for i := range c.lines {
		fmt.Fprintf(&b, "%s:%d:\tlog.Printf(%q, id, err)\n", file, 20+i*17, fmt.Sprintf("%s: %s for booking %%d: %%v", c.name, verb(i)))
	}
	return b.String()
}

func verb(i int) string {
	return [...]string{"could not load", "retrying", "gave up", "stored", "skipped", "conflict"}[i%6]
}

// source is a file with as many log calls as the chore has.
func source(c chore) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Package %s is a part of the booking server.\npackage %s\n\nimport (\n\t\"context\"\n\t\"log\"\n)\n", c.name, c.name)
	for i := range c.lines {
		fn := fmt.Sprintf("step%d", i+1)
		fmt.Fprintf(&b, "\n// %s handles one booking: it looks the booking up, checks what %s needs, and stores the\n// result with the version that it has read, so that a second writer is told.\n", fn, c.name)
		fmt.Fprintf(&b, "func (s *Service) %s(ctx context.Context, id int64) error {\n\tb, err := s.store.Booking(ctx, id)\n\tif err != nil {\n", fn)
		fmt.Fprintf(&b, "\t\tlog.Printf(%q, id, err)\n\t\treturn err\n\t}\n", fmt.Sprintf("%s: %s for booking %%d: %%v", c.name, verb(i)))
		fmt.Fprintf(&b, "\tif b.State != State%d {\n\t\treturn nil\n\t}\n\treturn s.store.Save(ctx, b.With%s(s.clock.Now()), b.Version)\n}\n", i+1, strings.ToUpper(c.name[:1])+c.name[1:])
	}
	return b.String()
}

func testFailure(c chore) string {
	return fmt.Sprintf("--- FAIL: TestLogs (0.00s)\n    %s_test.go:41: not equal:\n        expected: %q\n        actual  : %q\nFAIL\nFAIL\tferryline/internal/%s\t0.019s\n",
		c.name, c.name+": retrying for booking 7: timeout", "time=2026-04-14T10:02:11Z level=info msg=\""+c.name+": retrying for booking 7: timeout\"", c.name)
}

// A scribe writes a session row by row, without the packages that read it.
type scribe struct {
	out     bytes.Buffer
	now     time.Time
	leaf    any // id of the row before
	rows    int
	written int // characters, for the usage
}

// A step is a call with its result.
type step struct {
	tool      string
	arguments map[string]any
	result    string
	failed    bool
}

func (s *scribe) line(v any) {
	e := json.NewEncoder(&s.out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
}

func (s *scribe) stamp() string { return s.now.Format("2006-01-02T15:04:05.000Z") }

func (s *scribe) row(typ string, fields map[string]any) {
	s.rows++
	s.now = s.now.Add(time.Duration(3+s.rows*7%19) * time.Second)
	id := s.hash(s.rows)
	row := map[string]any{"type": typ, "id": id, "parentId": s.leaf, "timestamp": s.stamp()}
	for name, v := range fields {
		row[name] = v
	}
	s.line(row)
	s.leaf = id
}

func (s *scribe) hash(of any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "ferryline %v", of))
	return hex.EncodeToString(sum[:4])
}

func (s *scribe) message(m map[string]any) {
	m["timestamp"] = s.now.UnixMilli()
	s.row("message", map[string]any{"message": m})
}

func (s *scribe) say(text string) { s.message(s.assistant("stop", textBlock(text))) }

// calls is a message of the model that calls tools, with what each of them answered.
func (s *scribe) calls(why string, steps ...step) {
	var blocks []any
	if why != "" {
		blocks = append(blocks, textBlock(why))
	}
	ids := make([]string, len(steps))
	for i, st := range steps {
		ids[i] = s.callID(i)
		blocks = append(blocks, map[string]any{"type": "toolCall", "id": ids[i], "name": st.tool, "arguments": st.arguments})
	}
	s.message(s.assistant("toolUse", blocks...))
	for i, st := range steps {
		s.written += len(st.result)
		s.message(map[string]any{
			"role": "toolResult", "toolCallId": ids[i], "toolName": st.tool,
			"content": []any{textBlock(st.result)}, "isError": st.failed,
		})
	}
}

func (s *scribe) callID(i int) string { return fmt.Sprintf("call_%04d_%d", s.rows, i) }

func (s *scribe) assistant(stop string, blocks ...any) map[string]any {
	in := s.written / 3
	s.written += 200
	return map[string]any{
		"role": "assistant", "content": blocks, "api": "example-chat", "provider": "example", "model": "atlas-large",
		"usage":      map[string]any{"input": in, "output": 60, "cacheRead": 0, "cacheWrite": 0, "totalTokens": in + 60},
		"stopReason": stop,
	}
}

func textBlock(text string) map[string]any { return map[string]any{"type": "text", "text": text} }
