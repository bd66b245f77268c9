package main

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/internal/paramcompat"
)

// perform runs the script of a method: the value to return, or the error.
func (e *scriptedEngine) perform(ctx context.Context, method string, typed object) (any, error) {
	c := callFrom(ctx)
	c.signal.arm()
	c.playing.Add(1)
	defer c.playing.Add(-1)
	params := c.params(method, typed)
	if c.heldBack(method, params, e.info.AcceptedHostParams) {
		e.t.w.differ(differAccepted)
	}
	e.record(method, params)
	meet(ctx)
	b := e.behaviour(method)
	if b == nil {
		return e.standard(method, typed), nil
	}
	return e.act(ctx, method, b, params, typed)
}

func (e *scriptedEngine) record(method string, params object) {
	entry := object{"engine": e.t.name, "instance": e.instance, "method": method, "keys": sortedKeys(params)}
	if full, _ := e.t.script["recordParams"].(bool); full {
		entry["params"] = plain(params)
	}
	e.t.w.record(entry)
}

// behaviour gives the script of this call; nil when the method has none.
func (e *scriptedEngine) behaviour(method string) object {
	list := e.methods[method]
	if len(list) == 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.calls[method]
	e.calls[method]++
	return list[min(n, len(list)-1)]
}

// standard is what a required method does without a script.
func (e *scriptedEngine) standard(method string, typed object) any {
	switch method {
	case "ingest":
		return object{"ingested": true}
	case "assemble":
		return object{"messages": typed["messages"], "estimatedTokens": numberOf(11)}
	case "compact":
		return object{"ok": true, "compacted": true}
	}
	return undefinedValue{}
}

// act plays one behaviour.
func (e *scriptedEngine) act(ctx context.Context, method string, b, params, typed object) (any, error) {
	w := e.t.w
	c := callFrom(ctx)
	if on, _ := b["abortDuring"].(bool); on {
		c.signal.abort()
	}
	if ms, ok := intOf(b["delayMs"]); ok {
		park(ctx)
		wait(w.ctx, time.Duration(ms)*time.Millisecond)
	}
	if on, _ := b["hang"].(bool); on {
		park(ctx)
		return nil, e.hang(ctx, b)
	}
	if c.method != method && wants(b, "sessionTarget") && slices.Contains(carries(method), "sessionTarget") {
		return nil, w.skip("the reference's helpers pass a session target without a value")
	}
	if keys := rejectedKeys(b, params); len(keys) > 0 {
		for _, key := range keys {
			if isEmptyField(params[key]) && slices.Contains(hostFields(), key) {
				return nil, w.skip("a field is there or it is not: " + key + " without a value cannot be rejected")
			}
		}
		template, ok := b["error"]
		if !ok {
			template = "Unrecognized key(s) in object: {keys}"
		}
		err := w.throw(template, filler{keys: keys})
		e.noteNoRetry(ctx, params, err)
		return nil, err
	}
	if on, _ := b["rethrowSignalReason"].(bool); on {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
	}
	if v, ok := b["throw"]; ok {
		err := e.throw(ctx, v)
		e.noteNoRetry(ctx, params, err)
		return nil, err
	}
	return e.answer(b, typed)
}

// noteNoRetry notes a rejection of fields after the end of the call: the reference tries again
// all the same.
func (e *scriptedEngine) noteNoRetry(ctx context.Context, params object, err error) {
	if ctx.Err() == nil {
		return
	}
	present := slices.DeleteFunc(hostFields(), func(key string) bool { _, ok := params[key]; return !ok })
	var typed *ce.UnknownParamError
	if errors.As(err, &typed) || len(paramcompat.Rejected(err, present)) > 0 {
		e.t.w.differ(differDone)
	}
}

// throw makes the error that a script fails with. Words and causes decide in the reference
// what it means when the call is over; here the error's identity does.
func (e *scriptedEngine) throw(ctx context.Context, v any) error {
	w := e.t.w
	err := w.throw(v, filler{reason: context.Cause(ctx)})
	if ctx.Err() == nil || e.isDefault { // nobody judges the default engine
		return err
	}
	_, missed := context.Cause(ctx).(*ce.DeadlineError)
	byWord, byIdentity := abortWords().MatchString(err.Error()), errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))
	var made *scriptError
	if errors.As(err, &made) && made.name == "AbortError" {
		byWord = true
	}
	switch {
	case missed && !byWord:
		w.differ(differLate)
	case !missed && byWord != byIdentity:
		w.differ(differAbort)
	}
	return err
}

// abortWords are the words by which the reference recognises an abort.
func abortWords() *regexp.Regexp { return regexp.MustCompile(`(?i)abort|cancelled|canceled`) }

// answer is the value that a behaviour returns.
func (e *scriptedEngine) answer(b, typed object) (any, error) {
	if rollback, ok := b["rollback"].(map[string]any); ok {
		return object{"rollback": rollback}, nil
	}
	if on, _ := b["echo"].(bool); on {
		return e.echo(b, typed)
	}
	if v, ok := b["return"]; ok {
		return v, nil
	}
	return undefinedValue{}, nil
}

// echo returns the messages as passed, and those of plus after them.
func (e *scriptedEngine) echo(b, typed object) (any, error) {
	messages, _ := listOf(typed["messages"])
	switch plus := b["plus"].(type) {
	case nil, undefinedValue:
	case []any:
		messages = append(slices.Clone(messages), plus...)
	case map[string]any:
		messages = append(slices.Clone(messages), plus)
	default:
		return nil, e.t.w.skip("what plus adds is no message")
	}
	out := object{"messages": messages}
	if n, ok := b["estimatedTokens"]; ok {
		out["estimatedTokens"] = n
	}
	return out, nil
}

// hang waits for the call's end, then fails with the scripted error or the reason.
func (e *scriptedEngine) hang(ctx context.Context, b object) error {
	<-ctx.Done()
	if v, ok := b["throw"]; ok {
		return e.throw(ctx, v)
	}
	return context.Cause(ctx)
}

// wants reports whether a behaviour fails when the params own the key.
func wants(b object, key string) bool {
	list, _ := listOf(b["throwIfKeys"])
	return slices.Contains(list, any(key))
}

// rejectedKeys gives the keys of throwIfKeys that the params own.
func rejectedKeys(b, params object) []string {
	list, _ := listOf(b["throwIfKeys"])
	var out []string
	for _, item := range list {
		key, _ := item.(string)
		if _, ok := params[key]; ok {
			out = append(out, key)
		}
	}
	if first, _ := b["firstOnly"].(bool); first && len(out) > 1 {
		out = out[:1]
	}
	return out
}

// wait waits without being woken by the end of a call: a script's delay is deaf.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
