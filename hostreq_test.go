package contextengine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

func requiring(op ce.Operation, req ce.HostRequirements) ce.Info {
	return ce.Info{ID: "inner", Name: "Inner", HostRequirements: map[ce.Operation]ce.HostRequirements{op: req}}
}

func TestSpec01_15_06_HostRequirements(t *testing.T) {
	bare := ce.HostSupport{ID: "h", Label: "Host", Capabilities: []ce.Capability{}}
	for _, tt := range []struct {
		name string
		info ce.Info
		op   ce.Operation
		host ce.HostSupport
		want string
	}{
		{name: "none", info: ce.Info{ID: "x"}, op: ce.OpAgentRun, host: bare},
		{name: "empty list", info: requiring(ce.OpAgentRun, ce.HostRequirements{Unsupported: "unused"}), op: ce.OpAgentRun, host: bare},
		{name: "another operation", info: requiring(ce.OpManualCompact, ce.HostRequirements{Required: ce.Capabilities()}), op: ce.OpAgentRun, host: bare},
		{name: "satisfied", info: requiring(ce.OpAgentRun, ce.HostRequirements{Required: ce.Capabilities()}), op: ce.OpAgentRun, host: ce.CodexHost()},
		{
			name: "declared order and duplicates", op: ce.OpSubagentSpawn, host: ce.CLIHost("tool"),
			info: requiring(ce.OpSubagentSpawn, ce.HostRequirements{Required: []ce.Capability{ce.CapCompact, ce.CapBootstrap, "telepathy", ce.CapCompact}, Unsupported: "Use the embedded host."}),
			want: `engine "inner" cannot run "subagent-spawn" on CLI backend "tool": missing compact, telepathy, compact (required: compact, bootstrap, telepathy, compact; available: bootstrap, after-turn, maintain): Use the embedded host.`,
		},
		{
			name: "nothing there", op: ce.OpManualCompact, host: bare,
			info: requiring(ce.OpManualCompact, ce.HostRequirements{Required: []ce.Capability{ce.CapCompact}}),
			want: `engine "inner" cannot run "manual-compact" on Host: missing compact (required: compact; available: none)`,
		},
		{
			name: "projection needs more than the embedded host", op: ce.OpAgentRun, host: ce.EmbeddedHost(),
			info: requiring(ce.OpAgentRun, ce.HostRequirements{Required: []ce.Capability{ce.CapThreadBootstrapProjection}}),
			want: `engine "inner" cannot run "agent-run" on embedded host: missing thread-bootstrap-projection (required: thread-bootstrap-projection; available: bootstrap, assemble-before-prompt, after-turn, maintain, compact, runtime-llm-complete)`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := ce.CheckHost(tt.info, tt.op, tt.host)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tt.want)
		})
	}
}

func TestSpec01_15_06_LegacyIsExempt(t *testing.T) {
	info := requiring(ce.OpAgentRun, ce.HostRequirements{Required: ce.Capabilities()})
	info.ID = ce.LegacyID
	require.NoError(t, ce.CheckHost(info, ce.OpAgentRun, ce.HostSupport{}))
}

func TestHostAlternatives(t *testing.T) {
	req := ce.HostRequirements{
		Required: []ce.Capability{ce.CapAfterTurn},
		AnyOf: [][]ce.Capability{
			{ce.CapAssembleBeforePrompt, ce.CapCompact},
			{ce.CapBootstrap}, // capture only
		},
		Unsupported: "hint",
	}
	require.Equal(t, 0, req.Satisfied(ce.EmbeddedHost()))
	require.Equal(t, 1, req.Satisfied(ce.CLIHost("x")))
	require.Equal(t, -1, req.Satisfied(ce.CLIHost("x", ce.CapAfterTurn)))
	require.Equal(t, -1, req.Satisfied(ce.CLIHost("x", ce.CapBootstrap)))
	require.NoError(t, ce.CheckHost(requiring(ce.OpAgentRun, req), ce.OpAgentRun, ce.CLIHost("x")))

	var he *ce.HostRequirementError
	require.ErrorAs(t, ce.CheckHost(requiring(ce.OpAgentRun, req), ce.OpAgentRun, ce.CLIHost("x", ce.CapAfterTurn)), &he)
	require.Equal(t, []ce.Capability{ce.CapBootstrap}, he.Missing, "the nearest alternative")
	require.Equal(t, []ce.Capability{ce.CapAfterTurn, ce.CapBootstrap}, he.Required)
	require.Equal(t, "hint", he.Guidance)

	require.ErrorAs(t, ce.CheckHost(requiring(ce.OpAgentRun, req), ce.OpAgentRun, ce.CLIHost("x", ce.CapBootstrap)), &he)
	require.Equal(t, []ce.Capability{ce.CapAfterTurn}, he.Missing, "an alternative is met, the rest is not")
}

func TestCLIHostDeclaresItsList(t *testing.T) {
	require.Equal(t, []ce.Capability{ce.CapBootstrap, ce.CapAfterTurn, ce.CapMaintain}, ce.CLIHost("a").Capabilities)
	require.Empty(t, ce.CLIHost("a", []ce.Capability{}...).Capabilities)
	require.Equal(t, "cli:a", ce.CLIHost("a").ID)
	one, two := ce.EmbeddedHost(), ce.EmbeddedHost()
	one.Capabilities[0] = "changed"
	require.Equal(t, ce.CapBootstrap, two.Capabilities[0], "each call gives its own list")
}

func TestSatisfiedCheckAllocatesNothing(t *testing.T) {
	info := requiring(ce.OpAgentRun, ce.HostRequirements{Required: ce.EmbeddedHost().Capabilities})
	host := ce.EmbeddedHost()
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = ce.CheckHost(info, ce.OpAgentRun, host) }))
}
