package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// samplePath is the session that the program shows by default, seen from this package.
var samplePath = filepath.Join("..", "..", "testdata", "sessions", "sample.jsonl")

var update = flag.Bool("update", false, "write testdata/sessions/sample.jsonl again")

// The sample is written by this file and the sample_*_test.go files beside it, without
// the packages that read it, so that a fault in those cannot hide in the file.
func TestSampleIsWhatTheGeneratorWrites(t *testing.T) {
	t.Parallel()
	want := writeSample()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(samplePath), 0o755))
		require.NoError(t, os.WriteFile(samplePath, want, 0o644))
	}
	got, err := os.ReadFile(samplePath)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "%s is not what the generator writes: go test -update ./examples/quickstart", samplePath)
}

// writeSample returns the session file, the same bytes each time.
func writeSample() []byte {
	s := &story{
		now:   time.Date(2026, time.March, 2, 8, 0, 0, 0, time.UTC),
		model: "atlas-large",
	}
	s.line(object("type", "session", "version", 3, "id", "019cac9f-4c00-7a51-9d2e-51075ee9e8a1",
		"timestamp", s.stamp(), "cwd", "/srv/slotkeeper"))
	s.row("session_info", "name", "slotkeeper: bookings, before the clocks change")
	s.selectModel("atlas-large")
	s.row("thinking_level_change", "thinkingLevel", "medium")
	firstHalf(s)
	secondHalf(s)
	return s.out.Bytes()
}

// A story writes a session row by row.
type story struct {
	out   bytes.Buffer
	now   time.Time
	model string

	leaf    string // parent of the next row; "" is the root
	rows    int
	turn    int
	context int // characters that the model has seen, for the usage of its calls
}

// startDay goes on at eight in the morning of a day of March.
func (s *story) startDay(day int) {
	s.now = time.Date(2026, time.March, day, 8, 0, 0, 0, time.UTC)
}

// row appends a row under the leaf and moves the leaf to it.
func (s *story) row(typ string, fields ...any) string {
	id := s.nextID()
	s.line(s.entry(typ, id, fields...))
	s.leaf = id
	return id
}

// side appends a row that does not move the leaf.
func (s *story) side(typ string, fields ...any) {
	s.line(s.entry(typ, s.nextID(), append([]any{"appendMode", "side"}, fields...)...))
}

func (s *story) entry(typ, id string, fields ...any) ordered {
	var parent any
	if s.leaf != "" {
		parent = s.leaf
	}
	s.now = s.now.Add(time.Duration(7+s.rows*13%41) * time.Second)
	return append(object("type", typ, "id", id, "parentId", parent, "timestamp", s.stamp()), object(fields...)...)
}

func (s *story) line(o ordered) {
	s.out.Write(encode(o))
	s.out.WriteByte('\n')
}

func (s *story) nextID() string {
	s.rows++
	sum := sha256.Sum256(fmt.Appendf(nil, "slotkeeper row %d", s.rows))
	return hex.EncodeToString(sum[:4])
}

func (s *story) stamp() string { return s.now.Format("2006-01-02T15:04:05.000Z") }

func (s *story) selectModel(id string) {
	s.model = id
	s.row("model_change", "provider", "example", "modelId", id)
	s.row("custom", "customType", "model-snapshot",
		"data", object("timestamp", s.now.UnixMilli(), "provider", "example", "modelApi", "example-chat", "modelId", id))
}

// ask is a user's message as a bare string; show adds a screenshot.
func (s *story) ask(text string) string {
	s.turn++
	s.now = s.now.Add(11 * time.Minute)
	s.context += len(text)
	return s.message(object("role", "user", "content", text))
}

func (s *story) show(text string, picture *image.Paletted) {
	s.turn++
	s.now = s.now.Add(11 * time.Minute)
	s.context += len(text)
	s.message(object("role", "user", "content", []any{textBlock(text), imageBlock(picture)}))
}

// say is an answer without calls.
func (s *story) say(text string) string {
	return s.message(s.assistant("stop", textBlock(text)))
}

// think is an answer with the thoughts that led to it.
func (s *story) think(thought, text string) {
	block := object("type", "thinking", "thinking", thought, "thinkingSignature", signature(thought))
	s.message(s.assistant("stop", block, textBlock(text)))
}

// use is a message of the model that calls tools, and what each of them answered.
func (s *story) use(why string, uses ...toolUse) {
	var blocks []any
	if why != "" {
		blocks = append(blocks, textBlock(why))
	}
	ids := make([]string, len(uses))
	for i, u := range uses {
		ids[i] = s.callID(i)
		blocks = append(blocks, object("type", "toolCall", "id", ids[i], "name", u.name, "arguments", u.arguments))
	}
	s.message(s.assistant("toolUse", blocks...))
	for i, u := range uses {
		s.context += len(u.result)
		content := []any{textBlock(u.result)}
		if u.picture != nil {
			content = append(content, imageBlock(u.picture))
		}
		m := object("role", "toolResult", "toolCallId", ids[i], "toolName", u.name, "content", content, "isError", u.failed)
		if u.name == "bash" {
			code := 0
			if u.failed {
				code = 1
			}
			m = append(m, object("details", object("exitCode", code, "cwd", "/srv/slotkeeper"))...)
		}
		s.message(m)
	}
}

// callID is unique in the file for the large model; the small one counts anew in
// every message, as several providers do.
func (s *story) callID(i int) string {
	if s.model == "atlas-small" {
		return fmt.Sprintf("call_%d", i)
	}
	return fmt.Sprintf("call_%s_%d", signature(fmt.Sprint(s.rows))[:10], i)
}

func (s *story) assistant(stop string, blocks ...any) ordered {
	written := 0
	for _, b := range blocks {
		written += len(encode(b))
	}
	in, out := s.context/3, written/3
	s.context += written
	usage := object("input", in%4096, "output", out, "cacheRead", in-in%4096, "cacheWrite", 0, "totalTokens", in+out,
		"cost", object("input", 0, "output", 0, "cacheRead", 0, "cacheWrite", 0, "total", 0))
	return object("role", "assistant", "content", blocks, "api", "example-chat", "provider", "example",
		"model", s.model, "usage", usage, "stopReason", stop)
}

func (s *story) message(m ordered) string {
	id := s.nextID()
	e := s.entry("message", id)
	m = append(m, object("timestamp", s.now.UnixMilli())...)
	s.line(append(e, object("message", m)...))
	s.leaf = id
	return id
}

// shell is a command that the user ran beside the conversation.
func (s *story) shell(command, output string, exclude bool) {
	m := object("role", "bashExecution", "command", command, "output", output, "exitCode", 0, "cancelled", false, "truncated", false)
	if exclude {
		m = append(m, object("excludeFromContext", true)...)
	}
	s.message(m)
}

// A toolUse is a call and what came back.
type toolUse struct {
	name      string
	arguments ordered
	result    string
	failed    bool
	picture   *image.Paletted
}

func read(path, content string) toolUse {
	return toolUse{name: "read", arguments: object("path", path), result: content}
}

func grep(pattern, result string) toolUse {
	return toolUse{name: "grep", arguments: object("pattern", pattern, "path", "."), result: result}
}

func edit(path, before, after string) toolUse {
	return toolUse{
		name: "edit", arguments: object("path", path, "oldText", before, "newText", after),
		result: "Replaced 1 block in " + path + ".",
	}
}

func write(path, content string) toolUse {
	return toolUse{
		name: "write", arguments: object("path", path, "content", content),
		result: fmt.Sprintf("Wrote %d bytes to %s.", len(content), path),
	}
}

func bash(command, output string) toolUse {
	return toolUse{name: "bash", arguments: object("command", command, "timeoutMs", 120000), result: output}
}

func fails(u toolUse) toolUse {
	u.failed = true
	return u
}

func textBlock(s string) ordered { return object("type", "text", "text", s) }

func imageBlock(picture *image.Paletted) ordered {
	var buf bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.NoCompression} // the same bytes with every release of Go
	if err := encoder.Encode(&buf, picture); err != nil {
		panic(err)
	}
	return object("type", "image", "data", base64.StdEncoding.EncodeToString(buf.Bytes()), "mimeType", "image/png")
}

// calendar draws a week of slots; the days in booked are filled.
func calendar(booked ...int) *image.Paletted {
	const day, height = 12, 24
	p := image.NewPaletted(image.Rect(0, 0, 7*day, height), color.Palette{color.White, color.Gray{Y: 96}, color.RGBA{R: 200, G: 30, B: 60, A: 255}})
	for x := range 7 * day {
		for y := range height {
			if x%day == 0 || y%8 == 0 {
				p.SetColorIndex(x, y, 1)
			}
		}
	}
	for _, d := range booked {
		for x := d*day + 2; x < (d+1)*day-1; x++ {
			for y := 10; y < 15; y++ {
				p.SetColorIndex(x, y, 2)
			}
		}
	}
	return p
}

func signature(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:12])
}

// An ordered is a JSON object that keeps the order of its fields.
type ordered []field

type field struct {
	name  string
	value any
}

func object(namesAndValues ...any) ordered {
	o := make(ordered, 0, len(namesAndValues)/2)
	for i := 0; i < len(namesAndValues); i += 2 {
		o = append(o, field{namesAndValues[i].(string), namesAndValues[i+1]})
	}
	return o
}

// MarshalJSON implements json.Marshaler.
func (o ordered) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.Write(encode(f.name))
		buf.WriteByte(':')
		buf.Write(encode(f.value))
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

func encode(v any) []byte {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
