package contextengine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// tidy is an engine that shortens long tool results in the transcript once a turn is over.
// The four required methods are those of legacy.
type tidy struct{ ce.ContextEngine }

// The compiler says when a hook is none.
var _ ce.Maintainer = tidy{}

func (tidy) Info() ce.Info { return ce.Info{ID: "tidy", Name: "Short tool results"} }

func (tidy) Maintain(ctx context.Context, p ce.MaintainParams) (transcript.RewriteResult, error) {
	if p.Log == nil || p.Runtime == nil || p.Runtime.Rewriter == nil { // the host lends no transcript
		return transcript.RewriteResult{}, nil
	}
	view, err := p.Log.View(ctx)
	if err != nil {
		return transcript.RewriteResult{}, err
	}
	var short []transcript.Replacement
	for _, m := range view.Messages {
		if m.Role != message.RoleToolResult || len(m.Text()) < 1_000 {
			continue
		}
		m.Content = []message.Block{message.Text(m.Text()[:20] + " …")} // a copy: the list stays as it is
		short = append(short, transcript.Replacement{EntryID: m.Key, Message: m})
	}
	if len(short) == 0 {
		return transcript.RewriteResult{}, nil
	}
	return p.Runtime.Rewriter.Rewrite(ctx, transcript.RewriteRequest{Replacements: short, Generation: view.Generation})
}

// An engine that rewrites the transcript: reading, changing and writing all happen inside
// Maintain.
func ExampleMaintainer() {
	ctx := context.Background()
	var registry ce.Registry
	if err := registry.Register("tidy", "plugin:tidy", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		return tidy{ce.Legacy()}, nil
	}); err != nil {
		fmt.Println(err)
		return
	}
	read := hosttest.Tool("read", func(context.Context, json.RawMessage) ([]message.Block, error) {
		return []message.Block{message.Text(strings.Repeat("one line\n", 1_000))}, nil
	})
	model := hosttest.NewModel(hosttest.Calls(message.ToolCall("c1", "read", nil)), hosttest.Reply("Read."), hosttest.Reply("Yes."))
	h, err := host.New(transcript.NewMemory(), &host.Options{
		Registry: &registry, Selection: ce.Selection{Engine: "tidy"}, Model: model, Tools: []ce.Tool{read},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)
	for _, input := range []string{"Read it.", "Did you?"} {
		if _, err := h.Run(ctx, ce.SessionRef{SessionID: "s"}, message.User(input), nil); err != nil {
			fmt.Println(err)
		}
	}
	for _, m := range model.Requests()[2].Messages {
		if m.Role == message.RoleToolResult {
			fmt.Printf("%q\n", m.Text())
		}
	}
	// Output: "one line\none line\non …"
}
