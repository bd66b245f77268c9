package contextengine

import (
	"fmt"
	"slices"
	"strings"
)

// Operation names something a host does with an engine.
type Operation string

// Operations that an engine can make demands of.
const (
	OpAgentRun      Operation = "agent-run"
	OpManualCompact Operation = "manual-compact"
	OpSubagentSpawn Operation = "subagent-spawn"
)

// Valid reports whether o is known.
func (o Operation) Valid() bool {
	return o == OpAgentRun || o == OpManualCompact || o == OpSubagentSpawn
}

// Capability names something that a host can do for an engine.
type Capability string

// The documented capabilities.
const (
	CapBootstrap                 Capability = "bootstrap"
	CapAssembleBeforePrompt      Capability = "assemble-before-prompt"
	CapAfterTurn                 Capability = "after-turn"
	CapMaintain                  Capability = "maintain"
	CapCompact                   Capability = "compact"
	CapRuntimeLLMComplete        Capability = "runtime-llm-complete"
	CapThreadBootstrapProjection Capability = "thread-bootstrap-projection"
)

// Capabilities returns the documented capabilities in a fixed order.
func Capabilities() []Capability {
	return []Capability{
		CapBootstrap, CapAssembleBeforePrompt, CapAfterTurn, CapMaintain,
		CapCompact, CapRuntimeLLMComplete, CapThreadBootstrapProjection,
	}
}

// Valid reports whether c is a documented capability. Others are legal in
// declarations; a host that does not list one lacks it.
func (c Capability) Valid() bool { return slices.Contains(Capabilities(), c) }

// HostRequirements are what an engine demands of a host for one operation.
type HostRequirements struct {
	// Required must all be there.
	Required []Capability
	// AnyOf are alternatives, best first: one of the sets must be there too. An
	// engine that can also run with less, only capturing turns for example,
	// lists the lesser set last. Empty: no alternatives.
	AnyOf [][]Capability
	// Unsupported is guidance for people, appended to the error.
	Unsupported string
}

// HostSupport is what a host says about itself.
type HostSupport struct {
	ID, Label    string
	Capabilities []Capability
}

// EmbeddedHost is a host that drives every step itself, as package host does.
func EmbeddedHost() HostSupport {
	return HostSupport{ID: "embedded", Label: "embedded host", Capabilities: embeddedCapabilities()}
}

// CodexHost is a host in front of an app server with persistent threads: what
// the embedded host can do, and bootstrapping a thread with projected context.
func CodexHost() HostSupport {
	return HostSupport{
		ID: "codex-app-server", Label: "Codex app-server harness",
		Capabilities: append(embeddedCapabilities(), CapThreadBootstrapProjection),
	}
}

// CLIHost is a host in front of a command-line agent that builds its own
// prompt. Without caps it can bootstrap, deliver turns and maintain; a backend
// that can do more or less declares its list.
func CLIHost(backend string, caps ...Capability) HostSupport {
	if caps == nil {
		caps = []Capability{CapBootstrap, CapAfterTurn, CapMaintain}
	}
	return HostSupport{ID: "cli:" + backend, Label: fmt.Sprintf("CLI backend %q", backend), Capabilities: slices.Clone(caps)}
}

func embeddedCapabilities() []Capability {
	return []Capability{
		CapBootstrap, CapAssembleBeforePrompt, CapAfterTurn,
		CapMaintain, CapCompact, CapRuntimeLLMComplete,
	}
}

// Missing returns which capabilities of required the host lacks, in the order
// in which they were declared; nil when it has them all.
func (s HostSupport) Missing(required []Capability) []Capability {
	var missing []Capability
	for _, c := range required {
		if !slices.Contains(s.Capabilities, c) {
			missing = append(missing, c)
		}
	}
	return missing
}

// Satisfied returns the index of the first alternative of AnyOf that host
// satisfies, so that an engine and a host can agree on how much of the engine
// runs; -1 when Required is not met or no alternative is. Without alternatives
// it is 0 when Required is met.
func (r HostRequirements) Satisfied(host HostSupport) int {
	if host.Missing(r.Required) != nil {
		return -1
	}
	if len(r.AnyOf) == 0 {
		return 0
	}
	for i, set := range r.AnyOf {
		if host.Missing(set) == nil {
			return i
		}
	}
	return -1
}

// CheckHost reports whether host can run op with the engine that info describes,
// as nil or a [*HostRequirementError]. Check before the operation starts: nothing
// may have happened yet, and a failure quarantines nobody. The legacy engine is
// exempt. Requirements of other operations do not count.
func CheckHost(info Info, op Operation, host HostSupport) error {
	if info.ID == LegacyID {
		return nil
	}
	req, ok := info.HostRequirements[op]
	if !ok || req.Satisfied(host) >= 0 {
		return nil
	}
	required := slices.Concat(req.Required, closest(req.AnyOf, host))
	return &HostRequirementError{
		Engine: info.ID, Operation: op, Host: host,
		Missing: host.Missing(required), Required: required,
		Available: slices.Clone(host.Capabilities), Guidance: req.Unsupported,
	}
}

// closest returns the unmet alternative that lacks least, the first of equals;
// nil when there are no alternatives or one is met.
func closest(anyOf [][]Capability, host HostSupport) []Capability {
	var best []Capability
	least := -1
	for _, set := range anyOf {
		n := len(host.Missing(set))
		if n == 0 {
			return nil
		}
		if least < 0 || n < least {
			best, least = set, n
		}
	}
	return best
}

// A HostRequirementError says that a host cannot run an operation with an
// engine. Where the engine offers alternatives, Required and Missing speak of
// the one that is nearest.
type HostRequirementError struct {
	Engine    string // Info.ID
	Operation Operation
	Host      HostSupport

	// What is missing of what is required, in the engine's order, and what the
	// host has.
	Missing, Required, Available []Capability
	Guidance                     string // the engine's own words; "": none
}

// Error names engine, operation, host, what is missing, required and available,
// and the guidance.
func (e *HostRequirementError) Error() string {
	host := e.Host.Label
	if host == "" {
		host = e.Host.ID
	}
	text := fmt.Sprintf("engine %q cannot run %q on %s: missing %s (required: %s; available: %s)",
		e.Engine, string(e.Operation), sanitise(host), capabilityList(e.Missing), capabilityList(e.Required), capabilityList(e.Available))
	if e.Guidance != "" {
		text += ": " + sanitise(e.Guidance)
	}
	return text
}

func capabilityList(cs []Capability) string {
	if len(cs) == 0 {
		return "none"
	}
	names := make([]string, len(cs))
	for i, c := range cs {
		names[i] = sanitise(string(c))
	}
	return strings.Join(names, ", ")
}
