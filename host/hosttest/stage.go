package hosttest

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// A stage is a driver with its engines, model and store, led by a script.
type stage struct {
	t       *testing.T
	tape    *Tape
	store   transcript.Store
	opts    host.Options
	model   *Model
	engines map[string]*Engine
	host    Driver
	turn    Turn
	last    host.Outcome
	cancel  context.CancelCauseFunc
	ctx     context.Context
	others  sync.WaitGroup

	answers, later Tape   // of the present command, and of those that run beside it
	forked         string // id of the session that fork made
}

func newStage(t *testing.T) *stage {
	s := &stage{
		t: t, tape: &Tape{}, store: transcript.NewMemory(), model: NewModel(),
		engines: map[string]*Engine{},
	}
	s.ctx, s.cancel = context.WithCancelCause(t.Context())
	s.opts = host.Options{Registry: &ce.Registry{}, Model: s.model, Estimator: ByteCount{}, Uncalibrated: true}
	return s
}

// must ends the test at an error.
func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// require ends the test with a message where something does not hold.
func (s *stage) require(holds bool, format string, args ...any) {
	s.t.Helper()
	if !holds {
		s.t.Fatalf(format, args...)
	}
}

// register makes an engine available under its id.
func (s *stage) register(e *Engine) {
	s.t.Helper()
	s.must(s.opts.Registry.Register(e.About.ID, "plugin:"+e.About.ID,
		func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return e, nil }))
}

func sessionRef(id string) ce.SessionRef { return ce.SessionRef{SessionID: id} }

// play runs the lines of a section.
func (s *stage) play(section string, commands map[string]func([]string)) {
	for _, line := range strings.Split(section, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		f := commands[words[0]]
		s.require(f != nil, "unknown command %q", line)
		if s.host != nil {
			s.tape.Add("> %s", line)
		}
		f(words[1:])
		synctest.Wait()
		s.flush()
	}
}

// say keeps what a command answers until everything that it set off has settled,
// so that a trace does not depend on who is faster.
func (s *stage) say(format string, args ...any) { s.answers.Add(format, args...) }

func (s *stage) flush() {
	for _, line := range s.answers.Take() {
		s.tape.Add("%s", line)
	}
}

func (s *stage) input(w []string) (ce.SessionRef, message.Message, *host.TurnOptions) {
	opts := &host.TurnOptions{}
	var text []string
	for _, word := range w[1:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "heartbeat":
			opts.IsHeartbeat = true
		case "boundary":
			opts.Boundary = ce.Boundary(value)
		case "previous":
			opts.Previous = sessionRef(value)
		case "context":
			opts.Context = []message.Message{message.User(value)}
		case "model":
			opts.Model = value
		case "size":
			text = append(text, strings.Repeat("x", number(value)))
		default:
			text = append(text, word)
		}
	}
	var m message.Message
	if len(text) > 0 {
		m = message.User(strings.Join(text, " "))
	}
	id := w[0]
	if id == "fork" {
		id = s.forked
	}
	r := sessionRef(id)
	if rest, ok := strings.CutPrefix(id, "key:"); ok {
		r.SessionKey, r.SessionID, _ = strings.Cut(rest, ":")
	}
	return r, m, opts
}

func (s *stage) run(to *Tape, w []string) {
	r, m, opts := s.input(w)
	out, err := s.host.Run(s.ctx, r, m, opts)
	if to == &s.answers {
		s.last = out
	}
	s.outcome(to, out, err)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}
