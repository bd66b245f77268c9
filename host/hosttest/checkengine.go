package hosttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// CheckEngine says how the engines of a factory break the contract, everything that it
// finds at once. nil: it found nothing. The factory is called several times, as by hosts
// that follow each other or run side by side.
//
//   - Info has what it must have, and stays the same.
//   - Assemble changes nothing of what it is lent, and answers with a list.
//   - A call whose context has ended fails for no other reason.
//   - Turns with tool calls, a context that outgrows a small window, a manual compaction, a
//     restart, and the end of a session go well in a host in which nobody stands in for
//     the engine, and every request is one that providers take.
//   - So do several sessions at once.
//
// Whether what the engine sends is useful it cannot know. Run it under the race detector.
func CheckEngine(ctx context.Context, f ce.Factory) error {
	var errs []error
	for _, c := range []struct {
		name  string
		check func(context.Context, ce.Factory) error
	}{
		{"info", checkInfo},
		{"what is lent", checkLent},
		{"a context that has ended", checkEnded},
		{"a session", checkSession},
		{"sessions side by side", checkSideBySide},
	} {
		if err := c.check(ctx, f); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	return errors.Join(errs...)
}

// withEngine makes an engine, lets do use it, and closes it.
func withEngine(ctx context.Context, f ce.Factory, do func(e ce.ContextEngine) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &ce.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	e, err := f(ctx, ce.FactoryContext{})
	if err != nil {
		return fmt.Errorf("making the engine: %w", err)
	}
	if e == nil {
		return errors.New("making the engine: there is none")
	}
	err = do(e)
	if closing := ce.Close(e); closing != nil {
		err = errors.Join(err, fmt.Errorf("closing the engine: %w", closing))
	}
	return err
}

func checkInfo(ctx context.Context, f ce.Factory) error {
	return withEngine(ctx, f, func(e ce.ContextEngine) error {
		var errs []error
		info := e.Info()
		if strings.TrimSpace(info.ID) == "" {
			errs = append(errs, errors.New("the id is blank"))
		}
		if strings.TrimSpace(info.Name) == "" {
			errs = append(errs, errors.New("the name is blank"))
		}
		if !info.TurnMaintenance.Valid() {
			errs = append(errs, fmt.Errorf("unknown turn maintenance %q", string(info.TurnMaintenance)))
		}
		if !reflect.DeepEqual(info, e.Info()) {
			errs = append(errs, errors.New("it is another one when it is asked for again"))
		}
		return errors.Join(errs...)
	})
}

// sample is a list with each kind of message that engines see often.
func sample() []message.Message {
	ms := []message.Message{
		message.User("What does the file say?"),
		message.Assistant(message.Text("I look."), message.ToolCall("c1", "read", json.RawMessage(`{"path":"a.txt"}`))),
		message.ToolResult("c1", "read", message.Text(strings.Repeat("one line\n", 200))),
		message.Assistant(message.Text("Two hundred lines.")),
		message.User("Thank you."),
	}
	for i := range ms {
		ms[i].Key = fmt.Sprintf("k%d", i)
	}
	return ms
}

func checkLent(ctx context.Context, f ce.Factory) error {
	return withEngine(ctx, f, func(e ce.ContextEngine) error {
		lent, before := sample(), sample()
		res, err := e.Assemble(ctx, ce.AssembleParams{
			SessionRef: ce.SessionRef{SessionID: "lent"}, Messages: lent, TokenBudget: 10_000,
		})
		if err != nil {
			return fmt.Errorf("assemble: %w", err)
		}
		same := func(a, b message.Message) bool { return a.Key == b.Key && message.Equal(a, b) }
		if !slices.EqualFunc(lent, before, same) {
			return fmt.Errorf("assemble changed its list: %s", SaidAll(lent))
		}
		if res.Messages == nil {
			return errors.New("assemble answered without a list; for none to be sent, answer an empty one")
		}
		return nil
	})
}

func checkEnded(ctx context.Context, f ce.Factory) error {
	return withEngine(ctx, f, func(e ce.ContextEngine) error {
		ended, end := context.WithCancel(ctx)
		end()
		ref := ce.SessionRef{SessionID: "ended"}
		_, assembling := e.Assemble(ended, ce.AssembleParams{SessionRef: ref, Messages: sample(), TokenBudget: 10_000})
		_, ingesting := e.Ingest(ended, ce.IngestParams{SessionRef: ref, Message: message.User("hi")})
		_, compacting := e.Compact(ended, ce.CompactParams{SessionRef: ref, Force: true})
		judge := func(hook string, err error) error {
			if err == nil || errors.Is(err, context.Canceled) {
				return nil
			}
			return fmt.Errorf("%s should have answered, or failed with the context's error: %w", hook, err)
		}
		return errors.Join(judge("assemble", assembling), judge("ingest", ingesting), judge("compact", compacting))
	})
}

// checkWindow is the window of the model, in tokens: small, so that sessions outgrow it.
const checkWindow = 16_000

// checkHost makes a host in which nobody stands in for the engine.
func checkHost(f ce.Factory, store transcript.Store) (*host.Host, *Strict, error) {
	var reg ce.Registry
	if err := reg.Register("checked", "hosttest", f); err != nil {
		return nil, nil, err
	}
	var calls sync.Map // of a session's question, answered once
	model := &Strict{Window: checkWindow, Model: Always(func(ctx context.Context, r host.Request) (message.Message, error) {
		last := r.Messages[len(r.Messages)-1]
		_, called := calls.LoadOrStore(last.Text(), true)
		switch {
		case r.Purpose != "":
			return message.Assistant(message.Text("Files were read.")), nil
		case last.Role == message.RoleUser && !called:
			return message.Assistant(message.ToolCall("c1", "read", nil)), nil
		}
		return message.Assistant(message.Text("I have read it.")), nil
	})}
	h, err := host.New(store, &host.Options{
		Registry: &reg, Selection: ce.Selection{Engine: "checked", Policy: ce.Strict}, Model: model,
		Tools: []ce.Tool{Tool("read", func(context.Context, json.RawMessage) ([]message.Block, error) {
			return []message.Block{message.Text(strings.Repeat("a line of the file\n", 300))}, nil
		})},
		Models: func(context.Context, string) (host.ModelInfo, error) {
			return host.ModelInfo{Provider: "hosttest", ID: "checked", Budget: tokens.NewBudget(checkWindow, nil)}, nil
		},
	})
	return h, model, err
}

// lead takes a session through some turns and a compaction.
func lead(ctx context.Context, h *host.Host, ref ce.SessionRef, turns int) error {
	for i := range turns {
		if _, err := h.Run(ctx, ref, message.User(fmt.Sprintf("Read file %d of %s.", i, ref.SessionID)), nil); err != nil {
			return fmt.Errorf("turn %d: %w", i, err)
		}
	}
	if _, err := h.Compact(ctx, ref, "files"); err != nil {
		return err
	}
	if q := h.Status(ref).Engine.Quarantine; q != nil {
		return errors.New(q.String())
	}
	return nil
}

func checkSession(ctx context.Context, f ce.Factory) error {
	store, ref := transcript.NewMemory(), ce.SessionRef{SessionID: "s", SessionKey: "check:s"}
	for _, life := range []string{"", "after a restart: "} {
		h, model, err := checkHost(f, store)
		if err != nil {
			return err
		}
		err = lead(ctx, h, ref, 12)
		if life != "" && err == nil {
			err = h.EndSession(ctx, ref, ce.BoundaryDeleted, ce.SessionRef{})
		}
		if err := errors.Join(err, h.Close(ctx), model.Mistakes()); err != nil {
			return fmt.Errorf("%s%w", life, err)
		}
	}
	return nil
}

func checkSideBySide(ctx context.Context, f ce.Factory) error {
	h, model, err := checkHost(f, transcript.NewMemory())
	if err != nil {
		return err
	}
	errs := make([]error, 4)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = lead(ctx, h, ce.SessionRef{SessionID: fmt.Sprintf("s%d", i)}, 4) })
	}
	group.Wait()
	return errors.Join(append(errs, h.Close(ctx), model.Mistakes())...)
}
