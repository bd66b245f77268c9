package hosttest_test

import (
	"context"
	"fmt"
	"strings"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

func ExampleEngine() {
	var tape hosttest.Tape
	engine := hosttest.NewEngine("demo", ce.HookAfterTurn, &tape)
	var reg ce.Registry
	err := reg.Register("demo", "plugin:demo", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) { return engine, nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := host.New(transcript.NewMemory(), &host.Options{
		Registry: &reg, Selection: ce.Selection{Engine: "demo"},
		Model: &hosttest.Strict{Model: hosttest.NewModel(hosttest.Reply("hello"))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	out, err := h.Run(ctx, ce.SessionRef{SessionID: "s"}, message.User("hi"), nil)
	fmt.Println(out.Reply.Text(), err, h.Close(ctx))
	fmt.Println(strings.Join(tape.Take(), "\n"))
	// Output:
	// hello <nil> <nil>
	// demo assemble [] prompt="hi" budget=0 tools=unknown
	// demo afterTurn [u:hi | a:hello] new=[u:hi | a:hello] budget=0
}

// An engine that answers without a list where it has nothing to say.
type silent struct{ ce.ContextEngine }

func (silent) Info() ce.Info { return ce.Info{ID: "silent", Name: "Silent"} }

func (silent) Assemble(context.Context, ce.AssembleParams) (ce.AssembleResult, error) {
	return ce.AssembleResult{}, nil
}

// What is wrong with an engine, before a host finds out.
func ExampleCheckEngine() {
	err := hosttest.CheckEngine(context.Background(), func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		return silent{ce.Legacy()}, nil
	})
	first, _, _ := strings.Cut(err.Error(), "\n")
	fmt.Println(first)
	// Output:
	// what is lent: assemble answered without a list; for none to be sent, answer an empty one
}
