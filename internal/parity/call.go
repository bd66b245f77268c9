package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	ce "github.com/go-contextengine/contextengine"
)

// A callInfo travels in the context of one call: what the step passed, its signal, and what
// the engine that answered returned. A nil *callInfo stands for a call that no step spelt out.
type callInfo struct {
	method string
	raw    object // the params as written, abortSignal included
	on     *resolvedEngine
	signal *signalState
	over   bool // the call's context was done when it came back
	// playing counts the scripts that run for the call.
	playing atomic.Int32

	mu       sync.Mutex
	returned any
	prepared *ce.SubagentPreparation
}

type callKey struct{}

func newCall(method string, raw object, on *resolvedEngine) *callInfo {
	return &callInfo{method: method, raw: raw, on: on}
}

func withCall(ctx context.Context, c *callInfo) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

// callFrom gives the call that ctx belongs to; it is never nil.
func callFrom(ctx context.Context) *callInfo {
	if c, ok := ctx.Value(callKey{}).(*callInfo); ok {
		return c
	}
	return &callInfo{}
}

// answered keeps what an engine returned, so that rendering the typed result can tell a zero
// from a member that was not there.
func (c *callInfo) answered(v any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.returned = v
}

// source gives what the engine that answered last returned; nil when none did.
func (c *callInfo) source() object {
	c.mu.Lock()
	defer c.mu.Unlock()
	o, _ := c.returned.(map[string]any)
	return o
}

// keep holds the rollback handle that the call gave.
func (c *callInfo) keep(p *ce.SubagentPreparation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prepared = p
}

func (c *callInfo) preparation() *ce.SubagentPreparation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.prepared
}

type parkKey struct{}

// park tells whoever started the call, and the group that it belongs to, that its engine waits.
func park(ctx context.Context) {
	if m, ok := ctx.Value(groupKey{}).(*groupMember); ok {
		m.pass()
	}
	if f, ok := ctx.Value(parkKey{}).(func()); ok {
		f()
	}
}

// hostFields are the fields that a host adds to a call, by recorded name.
func hostFields() []string {
	return []string{"sessionKey", "prompt", "runtimeSettings", "sessionTarget", "runtimeContext"}
}

// carries says which host-added fields the Go params of a method have a place for.
func carries(method string) []string {
	switch method {
	case "ingest", "ingestBatch":
		return []string{"sessionKey"}
	case "assemble":
		return []string{"sessionKey", "prompt", "runtimeSettings", "runtimeContext"}
	case "compact", "bootstrap", "maintain", "afterTurn":
		return []string{"sessionKey", "runtimeSettings", "sessionTarget", "runtimeContext"}
	}
	return nil
}

// params says what the engine received, by recorded names: what the step wrote, less the
// host-added fields that were held back on the way. typed is what arrived in the Go params.
func (c *callInfo) params(method string, typed object) object {
	if c.method != method {
		if method == "assemble" {
			delete(typed, "runtimeContext") // newer than the recorded version
		}
		return typed
	}
	out := maps.Clone(c.raw)
	for _, key := range carries(method) {
		v, written := c.raw[key]
		if !written {
			continue
		}
		if isEmptyField(v) { // the Go field is zero either way
			if c.on.hasLearnt(key) {
				delete(out, key)
			}
			continue
		}
		if _, arrived := typed[key]; !arrived {
			delete(out, key)
			c.on.learn(key)
		}
	}
	return out
}

// heldBack reports whether a field is missing because the engine declares that it wants
// others only.
func (c *callInfo) heldBack(method string, params object, accepted []ce.HostParam) bool {
	if accepted == nil {
		return false
	}
	for _, key := range carries(method) {
		v, written := c.raw[key]
		if _, there := params[key]; there || slices.Contains(accepted, ce.HostParam(key)) {
			continue
		}
		if c.method != method || written && !isEmptyField(v) {
			return true
		}
	}
	return false
}

// isEmptyField reports a value that the Go field cannot tell from nothing.
func isEmptyField(v any) bool { return absent(v) || v == "" }

func (r *resolvedEngine) learn(key string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.learned == nil {
		r.learned = map[string]bool{}
	}
	r.learned[key] = true
}

func (r *resolvedEngine) hasLearnt(key string) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.learned[key]
}

// outOfPlace gives a learnt field that the step passes to a hook whose Go params lack it: the
// reference holds it back there too, here it cannot even be passed.
func (r *resolvedEngine) outOfPlace(method string, params object) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range hostFields() {
		if _, passed := params[key]; passed && r.learned[key] && !slices.Contains(carries(method), key) {
			return key
		}
	}
	return ""
}

// A signalState is the abort signal of one call.
type signalState struct {
	reason error
	cancel context.CancelCauseFunc
	after  time.Duration // the signal fires so long after the first script is reached; 0: not by itself

	once  sync.Once
	timer *time.Timer
}

// arm starts the timer, the first time. The reference reaches a script as soon as a call is
// made; here other work may come in between.
func (s *signalState) arm() *time.Timer {
	if s == nil || s.after == 0 {
		return nil
	}
	s.once.Do(func() { s.timer = time.AfterFunc(s.after, s.abort) })
	return s.timer
}

// abort fires the signal; without one it does nothing.
func (s *signalState) abort() {
	if s != nil {
		s.cancel(s.reason)
	}
}

// withSignal arms the signal that a step describes. The returned function releases it.
func withSignal(ctx context.Context, w *world, v any) (context.Context, *signalState, func()) {
	o, ok := v.(map[string]any)
	if !ok {
		return ctx, nil, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s := &signalState{reason: w.abortReason(o), cancel: cancel}
	release := func() { cancel(nil) }
	if o["abort"] == "before" {
		s.abort()
		return ctx, s, release
	}
	if ms, ok := intOf(o["afterMs"]); ok && o["abort"] != "never" {
		s.after = time.Duration(ms) * time.Millisecond
		return ctx, s, func() { s.arm().Stop(); release() }
	}
	return ctx, s, release
}

// abortReason gives the cause of a signal: the error it names, else one that stands for the
// value. Without a reason the cause is the plain cancellation.
func (w *world) abortReason(signal object) error {
	switch reason := signal["reason"].(type) {
	case nil, undefinedValue:
		return nil
	case string:
		return &scriptError{message: reason, name: "AbortError"}
	case map[string]any:
		if text, ok := reason["error"].(string); ok {
			name, _ := reason["name"].(string)
			return &scriptError{message: text, name: name}
		}
		return &scriptError{message: fmt.Sprint(plain(reason["value"]))}
	default:
		return &scriptError{message: fmt.Sprint(plain(reason))}
	}
}

func sortedKeys(o object) []any {
	keys := slices.Sorted(maps.Keys(o))
	out := make([]any, len(keys))
	for i, k := range keys {
		out[i] = k
	}
	return out
}

func numberOf(n int) json.Number { return json.Number(strconv.Itoa(n)) }
