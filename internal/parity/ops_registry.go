package main

import (
	"context"
	"errors"
	"strconv"

	ce "github.com/go-contextengine/contextengine"
)

// Rules met in a scenario that are other ones here, on purpose.
const (
	differRefresh   = "a same owner registers again without a refresh flag"
	differClearCore = "clearing owner core leaves the default engine"
	differOwner     = "a blank owner is nothing to UnregisterOwner"
	differID        = "an id that could never be selected is refused by Register"
	differStale     = "a handle belongs to one generation of its registration"
	differAccepted  = "declared AcceptedHostParams are honoured"
	differAbort     = "an abort is recognised by errors.Is, not by words"
	differDone      = "a done context ends every call, of the default engine too"
	differFull      = "the fallback is described in full at once"
	differLate      = "what comes back after the deadline is dropped, a failure too"
	differBootstrap = "a new session is bootstrapped too"
	differLane      = "deferred maintenance goes through the host's lane"
	differExempt    = "the check itself exempts the legacy engine, not its callers"
	differMalformed = "a malformed assemble result is a contract violation and a failure"
	differAbandoned = "an abandoned call is logged, and its session goes elsewhere until it returns"
	differHeard     = "an engine that gives up on a cancellation is heard before its caller leaves"
	differClosed    = "a closed handle stays closed"
	differRollback  = "a preparation is rolled back once"
	differReason    = "reasons are mapped by whole words"
	differMirror    = "a record is mirrored whatever its reason"
	differLength    = "the reason of a record is kept to its first 500 characters"
	differIdentity  = "a session target that contradicts its session is refused"
)

func registryOps() map[string]opFunc {
	return map[string]opFunc{
		"init": opInit, "register": opRegister, "registerPublic": opRegisterPublic,
		"clearOwner": opClearOwner, "resolve": opResolve, "resolveParallel": opResolveParallel,
	}
}

// opInit registers the built-in default engine, which is always there here. It replaces one
// that owner core has registered before.
func opInit(_ context.Context, w *world, _ step) (any, error) {
	w.mu.Lock()
	again := w.initialised
	w.initialised, w.hasDefault = true, true
	w.mu.Unlock()
	if reg, ok := w.reg.Lookup(ce.LegacyID); again || !ok || reg.Generation == 0 {
		return nil, nil
	}
	return nil, w.reg.Register(ce.LegacyID, "core", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		return ce.Legacy(), nil
	})
}

func opRegister(_ context.Context, w *world, s step) (any, error) {
	owner, ok := s.fields["owner"].(string)
	if !ok && !absent(s.fields["owner"]) {
		return nil, w.skip("an owner is a text")
	}
	return w.register(s, owner)
}

func opRegisterPublic(_ context.Context, w *world, s step) (any, error) {
	return w.register(s, "public-sdk")
}

func (w *world) register(s step, owner string) (any, error) {
	id, ok := s.fields["id"].(string)
	if !ok {
		return nil, w.skip("an id is a text")
	}
	factory := id
	if s.has("factory") {
		if factory, ok = s.fields["factory"].(string); !ok {
			return nil, w.skip("a factory is a function")
		}
	}
	var opts []ce.RegisterOption
	discovery := s.text("lifecycle") == "readOnlyDiscovery"
	if discovery {
		opts = append(opts, ce.DiscoveryOnly())
	}
	before, held := w.reg.Lookup(id)
	held = held && (id != ce.LegacyID || w.defaultThere())
	err := w.reg.Register(id, owner, w.factory(id, factory), opts...)
	var conflict *ce.ConflictError
	if errors.As(err, &conflict) {
		return object{"ok": false, "existingOwner": conflict.Owner}, nil
	}
	if err != nil {
		if trimmed(owner) != "" { // the reference refuses a blank owner too
			w.differ(differID)
		}
		return nil, err
	}
	if after, _ := w.reg.Lookup(id); after.Generation != before.Generation {
		if held && !s.flag("refresh") {
			w.differ(differRefresh)
		}
		w.noteOwner(id, owner)
	}
	return object{"ok": true}, nil
}

// registrations counts how often the scenario has registered the id or cleared its owner.
func (w *world) registrations(id string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.registered[id]
}

func (w *world) noteOwner(id, owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.registered[id]++
	w.owners[id] = trimmed(owner)
	w.hasDefault = w.hasDefault || id == ce.LegacyID
}

// cleared notes that the registrations of an owner are gone.
func (w *world) cleared(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, of := range w.owners {
		if of == owner {
			w.registered[id]++
		}
	}
}

func opClearOwner(_ context.Context, w *world, s step) (any, error) {
	owner, ok := s.fields["owner"].(string)
	if !ok && !absent(s.fields["owner"]) {
		return nil, w.skip("an owner is a text")
	}
	switch trimmed(owner) {
	case "":
		w.differ(differOwner)
	case "core":
		if w.defaultThere() {
			w.differ(differClearCore)
		}
	}
	w.reg.UnregisterOwner(owner)
	w.cleared(trimmed(owner))
	return nil, nil
}

// selectionOf reads which engine a step asks for. A slot that is no text counts as unset.
func (w *world) selectionOf(s step, slot any, hasSlot bool) ce.Selection {
	sel := ce.Selection{LearnRejectedFields: true}
	config, hasConfig := s.fields["config"]
	if !hasConfig && hasSlot {
		config = object{"plugins": object{"slots": object{"contextEngine": slot}}}
	}
	if !absent(config) {
		sel.Factory.HostConfig = config
	}
	if !hasSlot {
		slot = slotOf(config)
	}
	sel.Engine, _ = slot.(string)
	options := s.object("options")
	sel.Factory.AgentDir, _ = options["agentDir"].(string)
	sel.Factory.WorkspaceDir, _ = options["workspaceDir"].(string)
	return sel
}

func slotOf(config any) any {
	for _, key := range []string{"plugins", "slots", "contextEngine"} {
		o, _ := config.(map[string]any)
		config = o[key]
	}
	return config
}

func opResolve(ctx context.Context, w *world, s step) (any, error) {
	sel := w.selectionOf(s, s.fields["slot"], s.has("slot"))
	sel.Deadline.Compact = w.compactionLimit(s.text("as"))
	h, err := w.resolve(ctx, sel)
	if err != nil {
		return nil, err
	}
	w.keep(s.text("as"), h, sel)
	return object{"info": infoFields(h.Info())}, nil
}

func (w *world) defaultThere() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hasDefault
}

// keep names a handle for later steps.
func (w *world) keep(name string, h *ce.Handle, sel ce.Selection) {
	id := trimmed(sel.Engine)
	r := &resolvedEngine{
		name: name, handle: h, selected: id, registrations: w.registrations(id),
		bare: id == "" || id == ce.LegacyID || h.Status().Substituted,
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resolved[name] = r
}

func (w *world) resolve(ctx context.Context, sel ce.Selection) (*ce.Handle, error) {
	h, err := w.reg.Resolve(ctx, sel)
	if err != nil {
		return nil, err
	}
	return h, w.checkDefault(h)
}

// checkDefault ends a scenario in which the default engine answers although the reference has
// none yet: a registry without its default engine does not exist here.
func (w *world) checkDefault(h *ce.Handle) error {
	if w.defaultThere() || h.Status().Answering != ce.LegacyID {
		return nil
	}
	return w.skip("a registry without its default engine does not exist")
}

func opResolveParallel(ctx context.Context, w *world, s step) (any, error) {
	slots, _ := listOf(s.fields["slots"])
	infos, errs := make([]any, len(slots)), make([]error, len(slots))
	handles := make([]*ce.Handle, len(slots))
	runParallel(ctx, len(slots), func(ctx context.Context, i int) {
		handles[i], errs[i] = w.resolve(ctx, w.selectionOf(s, slots[i], true))
		if errs[i] == nil {
			infos[i] = object{"info": infoFields(handles[i].Info())}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, h := range handles {
		w.keep(s.text("as")+strconv.Itoa(i), h, w.selectionOf(s, slots[i], true))
	}
	return infos, nil
}
