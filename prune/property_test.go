package prune_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/prune"
	"github.com/go-contextengine/contextengine/tokens"
)

// A maker makes a pass of a new session.
type maker func() prune.Pass

// shrinking are the passes that only take away: they may never make a list longer.
func shrinking() map[string]maker {
	return map[string]maker{
		"HistoryLimit":        func() prune.Pass { return prune.HistoryLimit(2) },
		"BatchedHistoryLimit": func() prune.Pass { return prune.BatchedHistoryLimit(2) },
		"HistoryImages":       func() prune.Pass { return prune.HistoryImages() },
		"ToolResults": func() prune.Pass {
			return prune.ToolResults(&prune.ToolResultOptions{MaxChars: 900, AggregateChars: 2500})
		},
		"ToolResultsTight": func() prune.Pass {
			return prune.ToolResults(&prune.ToolResultOptions{MaxChars: 90, AggregateChars: 200})
		},
		"CacheTTL": func() prune.Pass { return expiredTTL(nil) },
		"CacheTTLTight": func() prune.Pass {
			return expiredTTL(&prune.CacheTTLOptions{
				KeepAssistants: 1, SoftRatio: -1, HardRatio: -1, MinPrunable: -1,
				SoftTrim: prune.SoftTrim{Max: 50, Head: 40, Tail: 9},
			})
		},
		"CacheTTLTrim": func() prune.Pass {
			return expiredTTL(&prune.CacheTTLOptions{
				SoftRatio: -1, NoHardClear: true, SoftTrim: prune.SoftTrim{Max: 120, Head: 100, Tail: 19},
			})
		},
	}
}

// expiredTTL is a pass whose last request was long ago at testInput's time.
func expiredTTL(opts *prune.CacheTTLOptions) prune.Stateful {
	p := prune.CacheTTL(opts)
	in := testInput()
	p.Apply(nil, in)
	p.Observe(message.Usage{}, in.Now.Add(-time.Hour))
	return p
}

// policies are all of them.
func policies() []prune.Policy {
	return []prune.Policy{
		prune.PolicyCommon, prune.PolicyAnthropic, prune.PolicyGemini,
		prune.PolicyOpenAIChat, prune.PolicyOpenAIResponses, prune.PolicyMistral, prune.PolicyAuto,
	}
}

// passes are all passes, those of Hygiene by policy and number.
func passes() map[string]maker {
	out := shrinking()
	for _, policy := range policies() {
		for i := range prune.Hygiene(policy) {
			out["Hygiene/"+string(policy)+"/"+string(rune('0'+i))] = func() prune.Pass { return prune.Hygiene(policy)[i] }
		}
		out["Standard/"+string(policy)] = func() prune.Pass { return chain(prune.Standard(policy)) }
	}
	return out
}

// A chain is several passes as one.
type chain []prune.Pass

func (c chain) Apply(ms []message.Message, in prune.Input) []message.Message {
	return prune.Apply(ms, in, c...)
}

func TestPropertyPassesAreFixedPoints(t *testing.T) {
	t.Parallel()
	for name, make := range passes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				ms := listGen{units: 10, plain: rapid.Bool().Draw(t, "plain"), resultSize: 3000}.draw(t)
				before := message.Clone(ms)
				p := make()
				once := p.Apply(ms, testInput())
				require.True(t, equalLists(before, ms), "the list was changed in place")
				if equalLists(ms, once) {
					require.True(t, sameList(ms, once), "an unchanged list was copied")
				}
				kept := message.Clone(once)
				require.True(t, equalLists(once, p.Apply(once, testInput())), "again:\n%s", cmp.Diff(texts(once), texts(p.Apply(once, testInput()))))
				fresh := make().Apply(once, testInput())
				require.True(t, equalLists(once, fresh), "another instance:\n%s", cmp.Diff(texts(once), texts(fresh)))
				require.True(t, equalLists(once, p.Apply(ms, testInput())), "the same list gave another result")
				require.True(t, equalLists(kept, once), "an earlier result was changed in place")
			})
		})
	}
}

func TestPropertyPairedStaysPaired(t *testing.T) {
	t.Parallel()
	for name, make := range passes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				ms := listGen{units: 10, resultSize: 2000}.draw(t)
				require.True(t, paired(ms), "the generator's own fault")
				out := make().Apply(ms, testInput())
				require.True(t, paired(out), "%v", texts(out))
				requireKeysOf(t, ms, out)
			})
		})
	}
}

// requireKeysOf wants the keys of out to be keys of ms in the same order.
func requireKeysOf(t *rapid.T, ms, out []message.Message) {
	at := 0
	for _, m := range out {
		if m.Key == "" {
			continue
		}
		next := slices.IndexFunc(ms[at:], func(x message.Message) bool { return x.Key == m.Key })
		require.GreaterOrEqual(t, next, 0, "key %q is new or out of order", m.Key)
		at += next + 1
	}
}

func TestPropertyShrinkingNeverLengthens(t *testing.T) {
	t.Parallel()
	e := tokens.ScriptAware()
	for name, make := range shrinking() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				ms := listGen{units: 10, plain: rapid.Bool().Draw(t, "plain"), resultSize: 3000}.draw(t)
				out := make().Apply(ms, testInput())
				require.LessOrEqual(t, tokens.Messages(e, out), tokens.Messages(e, ms))
			})
		})
	}
}

// TestPropertyHygieneAddsNothing: a list that every provider would take gets no longer.
func TestPropertyHygieneAddsNothing(t *testing.T) {
	t.Parallel()
	e := tokens.ScriptAware()
	for _, policy := range policies() {
		t.Run("policy "+string(policy), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				ms := listGen{units: 10, plain: true}.draw(t)
				out := prune.Apply(ms, testInput(), prune.Hygiene(policy)...)
				require.LessOrEqual(t, tokens.Messages(e, out), tokens.Messages(e, ms))
			})
		})
	}
}

// TestPropertyHygieneOutputIsValid looks at what the policies promise.
func TestPropertyHygieneOutputIsValid(t *testing.T) {
	t.Parallel()
	for _, policy := range policies() {
		t.Run("policy "+string(policy), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				ms := listGen{units: 10}.draw(t)
				out := prune.Apply(ms, testInput(), prune.Hygiene(policy)...)
				requireValid(t, policy, out)
			})
		})
	}
}

func requireValid(t *rapid.T, policy prune.Policy, ms []message.Message) {
	alternate := policy == prune.PolicyAnthropic || policy == prune.PolicyOpenAIChat || policy == prune.PolicyMistral
	ids := map[string]bool{}
	for i, m := range ms {
		require.Contains(t, []message.Role{message.RoleUser, message.RoleAssistant, message.RoleToolResult}, m.Role)
		require.NotEmpty(t, m.Content)
		for _, b := range m.Content {
			require.False(t, b.Type == message.BlockText && b.Text == "", "an empty text")
		}
		if alternate && i > 0 && m.Role != message.RoleToolResult {
			require.NotEqual(t, ms[i-1].Role, m.Role, "turns do not alternate: %v", texts(ms))
		}
		for b := range m.ToolCalls() {
			if policy == prune.PolicyMistral {
				require.Regexp(t, `^[A-Za-z0-9]{9}$`, b.ID)
			}
			if policy != prune.PolicyCommon && policy != prune.PolicyAuto {
				require.False(t, ids[b.ID], "id %q twice", b.ID)
			}
			ids[b.ID] = true
		}
	}
	if len(ms) > 0 && (policy == prune.PolicyGemini || policy == prune.PolicyOpenAIChat || policy == prune.PolicyMistral) {
		require.Equal(t, message.RoleUser, ms[0].Role)
	}
	require.True(t, paired(ms))
}

// TestPropertyPrefixIsStable lets a session grow turn by turn: what was sent stays the
// beginning of what is sent next, unless the passes made a new decision about old results,
// a batch of images went, or a turn ended of which a policy refuses the reasoning.
func TestPropertyPrefixIsStable(t *testing.T) {
	t.Parallel()
	for _, policy := range policies() {
		t.Run("policy "+string(policy), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				ms := listGen{units: 24, plain: true, resultSize: 3000, rich: true}.draw(t)
				results := prune.ToolResults(&prune.ToolResultOptions{MaxChars: 900, AggregateChars: 3000}).(prune.Stateful)
				ttl := prune.CacheTTL(&prune.CacheTTLOptions{SoftRatio: -1, HardRatio: -1, MinPrunable: -1})
				all := append([]prune.Pass{prune.HistoryImages(), ttl, results}, prune.Hygiene(policy)...)
				in := testInput()
				var sent []message.Message
				state, images := "", 0
				for u := range message.Units(ms) {
					out := prune.Apply(ms[:u.End:u.End], in, all...)
					now := string(results.Snapshot()) + string(ttl.Snapshot())
					seen := strings.Count(join(out), prune.SeenImageText)
					if now == state && seen == images && !(dropsReasoning(policy) && ms[u.Start].Role == message.RoleUser) {
						require.GreaterOrEqual(t, len(out), len(sent))
						require.True(t, equalLists(sent, out[:len(sent)]), "%s", cmp.Diff(texts(sent), texts(out[:len(sent)])))
					}
					if seen != images {
						require.GreaterOrEqual(t, seen, images+5, "a whole batch, or none")
					}
					sent, state, images = message.Clone(out), now, seen
					if rapid.Bool().Draw(t, "succeeds") {
						ttl.Observe(message.Usage{}, in.Now)
						state = string(results.Snapshot()) + string(ttl.Snapshot())
					}
					in.Now = in.Now.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second)
				}
			})
		})
	}
}

// dropsReasoning is for providers that want only the reasoning of the turn that is open.
func dropsReasoning(policy prune.Policy) bool {
	return policy == prune.PolicyOpenAIChat || policy == prune.PolicyMistral
}

// TestPropertySnapshotRestores: another process sends the same bytes.
func TestPropertySnapshotRestores(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func() prune.Stateful{
		"ToolResults": func() prune.Stateful {
			return prune.ToolResults(&prune.ToolResultOptions{MaxChars: 900, AggregateChars: 2500}).(prune.Stateful)
		},
		"CacheTTL": func() prune.Stateful {
			return expiredTTL(&prune.CacheTTLOptions{KeepAssistants: 1, SoftRatio: -1, HardRatio: 0.1, MinPrunable: -1, SoftTrim: prune.SoftTrim{Max: 300, Head: 99, Tail: 99}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				ms := listGen{units: 10, resultSize: 3000}.draw(t)
				p := make()
				out := p.Apply(ms, testInput())
				again := make()
				require.NoError(t, again.Restore(p.Snapshot()))
				in := testInput()
				in.Now = time.Time{} // nothing expires: what was decided is all that counts
				require.True(t, equalLists(out, again.Apply(ms, in)))
				require.Equal(t, string(p.Snapshot()), string(again.Snapshot()))
			})
		})
	}
}

// TestPassesAreSafeForConcurrentUse: what several goroutines ask of one pass is what each
// would get alone, except for decisions that belong to a session.
func TestPassesAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	lists := [][]message.Message{turns(6), exchanges(9, "some output"), exchanges(3, "other output"), session(4, 50)}
	for name, make := range passes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := make()
			var wg sync.WaitGroup
			for _, ms := range lists {
				want := make().Apply(ms, testInput())
				wg.Go(func() {
					for range 20 {
						got := shared.Apply(ms, testInput())
						if !strings.Contains(name, "Tight") {
							assert.True(t, equalLists(want, got))
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
