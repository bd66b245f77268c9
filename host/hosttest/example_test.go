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
