package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prompt"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// window is that of a small local model: long sessions do not fit, half of it is kept
// for the answer.
const window = 12_000

const instructions = "You help a small team with its software. Answer in the language of the last message."

// A guide takes a session through turns and tells what happens.
type guide struct {
	w       io.Writer
	budget  tokens.Budget
	session ce.SessionRef
	count   *tokens.Meter
	store   transcript.Store
	host    *host.Host
	model   *hosttest.Model
}

// tour resolves an engine, runs a turn, compacts, runs another turn, and lets an engine fail.
func tour(ctx context.Context, w io.Writer, store transcript.Store, session string, count *tokens.Meter) (err error) {
	registry, err := engines(count)
	if err != nil {
		return err
	}
	g := &guide{
		w: w, budget: tokens.NewBudget(window, nil), session: ce.SessionRef{SessionID: session},
		count: count, store: store, model: hosttest.NewModel(),
	}
	g.host, err = host.New(store, &host.Options{
		Registry:  registry,
		Selection: ce.Selection{Engine: "recent"},
		Model:     g.model,
		Models: func(context.Context, string) (host.ModelInfo, error) {
			return host.ModelInfo{Provider: "offline", ID: "scripted", Budget: g.budget}, nil
		},
		System: func(context.Context, prompt.Run) (prompt.Prompt, error) {
			return prompt.Text(instructions), nil
		},
		Compactor: digest{store, count},
		Estimator: count,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.host.Close(ctx)) }()

	handle, err := registry.Resolve(ctx, ce.Selection{Engine: "recent"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handle.Close()) }()
	info := handle.Info()
	fmt.Fprintf(w, "\nengines %s\n  %s: %s, version %s\n",
		strings.Join(registry.IDs(), ", "), handle.Status().Answering, info.Name, info.Version)

	if err := g.turn(ctx, "What is still open?", "Let me look at what we have."); err != nil {
		return err
	}
	if err := g.compact(ctx, handle); err != nil {
		return err
	}
	if err := g.turn(ctx, "谢谢。之前的请求还记得吗？", "记得：摘要里有。"); err != nil {
		return err
	}
	return g.failure(ctx)
}

// engines registers what the tour selects. Legacy is there without being told.
func engines(count *tokens.Meter) (*ce.Registry, error) {
	registry := &ce.Registry{}
	err := errors.Join(
		registry.Register("recent", "example:quickstart", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
			return recent{count}, nil
		}),
		registry.Register("broken", "example:quickstart", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
			return broken{recent{count}}, nil
		}),
	)
	return registry, err
}

// turn runs one and shows what the model was sent against its budget.
func (g *guide) turn(ctx context.Context, ask, answer string) error {
	g.model.Add(hosttest.Reply(answer))
	view, err := g.view(ctx)
	if err != nil {
		return err
	}
	out, err := g.host.Run(ctx, g.session, message.User(ask), nil)
	if err != nil {
		return err
	}
	g.session = out.Session
	requests := g.model.Requests()
	sent := requests[len(requests)-1]
	fmt.Fprintf(g.w, "\nturn with engine %s\n  user: %s\n", out.Engine.Answering, ask)
	fmt.Fprintf(g.w, "  sent: %d of %d messages, %d tokens of a budget of %d (window %d)\n",
		len(sent.Messages), len(view.Messages)+1, sent.Estimated, g.budget.Prompt(), g.budget.Window)
	_, err = fmt.Fprintf(g.w, "  model: %s\n", out.Reply.Text())
	return err
}

// failure selects the engine that panics: the turn is answered all the same.
func (g *guide) failure(ctx context.Context) error {
	g.host.Select(ce.Selection{Engine: "broken"})
	if err := g.turn(ctx, "Does this still work?", "Yes: the transcript was all I needed."); err != nil {
		return err
	}
	status := g.host.Status(g.session).Engine
	q := status.Quarantine
	if q == nil {
		return fmt.Errorf("engine %q was not quarantined", status.Selected)
	}
	fmt.Fprintf(g.w, "\nquarantine\n  engine: %s of %s, registration %d\n  failed: %s (%s) at %s\n  reason: %q\n",
		q.EngineID, q.Owner, q.Generation, q.Operation, q.Class, q.FailedAt.UTC().Format("15:04:05"), q.Reason)
	_, err := fmt.Fprintf(g.w, "answered by %s (quarantined: %s)\n", status.Answering, q.EngineID)
	return err
}

func (g *guide) view(ctx context.Context) (transcript.View, error) {
	log, err := g.store.Open(ctx, g.session.SessionID)
	if err != nil {
		return transcript.View{}, err
	}
	view, err := log.View(ctx)
	return view, errors.Join(err, log.Close())
}

// compact asks the engine for a compaction, as a user's command would.
func (g *guide) compact(ctx context.Context, engine ce.ContextEngine) error {
	res, err := engine.Compact(ctx, ce.CompactParams{
		SessionRef: g.session, TokenBudget: g.budget.Prompt(), Force: true, Trigger: ce.TriggerManual,
		Runtime: ce.LendRuntime(ce.RuntimeContext{Compactor: digest{g.store, g.count}, Estimator: g.count}),
	})
	if err != nil {
		return err
	}
	if !res.OK || res.Result == nil || res.Result.TokensAfter == nil {
		return fmt.Errorf("compaction failed: %s %s", res.Reason, res.Detail)
	}
	_, err = fmt.Fprintf(g.w, "\ncompacted %d -> %d tokens\n  reason: %s\n",
		res.Result.TokensBefore, *res.Result.TokensAfter, res.Reason)
	return err
}
