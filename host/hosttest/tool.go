package hosttest

import (
	"context"
	"encoding/json"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
)

// Tool returns a tool without arguments that runs f.
func Tool(name string, f func(ctx context.Context, arguments json.RawMessage) ([]message.Block, error)) ce.Tool {
	return tool{name, f}
}

type tool struct {
	name string
	f    func(ctx context.Context, arguments json.RawMessage) ([]message.Block, error)
}

func (t tool) Name() string { return t.name }

func (t tool) Description() string { return "scripted" }

func (t tool) Schema() json.RawMessage { return nil }

func (t tool) Call(ctx context.Context, arguments json.RawMessage) ([]message.Block, error) {
	return t.f(ctx, arguments)
}
