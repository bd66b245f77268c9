package tokens_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-contextengine/contextengine/tokens"
)

func TestNewBudgetReserve(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                            string
		window                          int
		opts                            *tokens.BudgetOptions
		wantReserve, wantPrompt, wantOf int
	}{
		{"unknown window", 0, nil, 20_000, 1, 0},
		{"large", 200_000, nil, 20_000, 180_000, 820_000},
		{"16k keeps half", 16_000, nil, 8_000, 8_000, 992_000},
		{"8k keeps half", 8_000, nil, 4_000, 4_000, 996_000},
		{"tiny", 1, nil, 0, 1, 999_999},
		{"reserve above the floor", 200_000, &tokens.BudgetOptions{Reserve: new(50_000)}, 50_000, 150_000, 850_000},
		{"reserve above the window", 200_000, &tokens.BudgetOptions{Reserve: new(500_000)}, 192_000, 8_000, 992_000},
		{"no floor", 200_000, &tokens.BudgetOptions{Reserve: new(1_000), Floor: new(0)}, 1_000, 199_000, 801_000},
		{"nothing reserved", 200_000, &tokens.BudgetOptions{Reserve: new(0), Floor: new(0)}, 0, 200_000, 800_000},
		{"reserve without a window", 0, &tokens.BudgetOptions{Reserve: new(500_000)}, 500_000, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := tokens.NewBudget(tt.window, tt.opts)
			require.Equal(t, tt.wantReserve, b.Reserve)
			require.Equal(t, tt.wantPrompt, b.Prompt())
			require.Equal(t, tt.wantOf, b.Overflow(1_000_000))
		})
	}
}

func TestBudgetCapsReserveOfLiteral(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2_000, tokens.Budget{Window: 4_000, Reserve: 20_000}.Prompt())
	require.Equal(t, 4_000, tokens.Budget{Window: 4_000, Reserve: -5}.Prompt())
	require.Equal(t, 3_000, tokens.Budget{Window: 4_000, Reserve: 20_000, MinPrompt: 3_000}.Prompt())
}

func TestX3_UnknownWindowNeverOverflows(t *testing.T) {
	t.Parallel()
	require.Zero(t, tokens.Budget{}.Overflow(1<<40))
	require.False(t, tokens.Budget{}.Known())
}

func TestBudgetCalibrated(t *testing.T) {
	t.Parallel()
	b := tokens.NewBudget(120_000, nil)
	require.Equal(t, b, b.Calibrated(1))
	require.Equal(t, b, b.Calibrated(0))
	c := b.Calibrated(1.25)
	require.Equal(t, 96_000, c.Window)
	require.Equal(t, 80_000, c.Prompt())
	require.False(t, tokens.Budget{}.Calibrated(2).Known())
}

// Whatever a host configures or a provider reports, no decision is made on a number that
// wrapped around.
func TestBudgetNeverWrapsAround(t *testing.T) {
	t.Parallel()
	for _, w := range []int{math.MinInt, -1, 0} {
		b := tokens.Budget{Window: w, Reserve: 20_000}
		require.False(t, b.Known())
		require.Equal(t, 1, b.Prompt())
		require.Equal(t, 20_000, b.EffectiveReserve())
		require.Zero(t, b.Overflow(math.MaxInt))
		require.Equal(t, 10_000, b.Calibrated(2).EffectiveReserve())
	}
	b := tokens.NewBudget(100_000, nil)
	require.Zero(t, b.Overflow(math.MinInt))
	require.Equal(t, math.MaxInt-b.Prompt(), b.Overflow(math.MaxInt))
	require.Equal(t, math.MaxInt, b.Calibrated(1e-300).Window)
	require.Equal(t, 1, b.Calibrated(math.Inf(1)).Window)
	require.Equal(t, b, b.Calibrated(math.NaN()))
	require.Equal(t, math.MaxInt, tokens.Budget{Window: math.MaxInt, Reserve: math.MinInt}.Prompt())
	require.Equal(t, math.MaxInt, tokens.Budget{Window: math.MaxInt, Reserve: math.MaxInt, MinPrompt: math.MaxInt}.Prompt())
}

func TestBudgetPartsFitTheWindow(t *testing.T) {
	t.Parallel()
	number := rapid.OneOf(rapid.Int(), rapid.IntRange(-10, 100_000))
	rapid.Check(t, func(t *rapid.T) {
		b := tokens.Budget{Window: number.Draw(t, "window"), Reserve: number.Draw(t, "reserve"), MinPrompt: number.Draw(t, "least prompt")}
		estimated, factor := number.Draw(t, "estimated"), rapid.Float64().Draw(t, "factor")
		for _, b := range []tokens.Budget{b, b.Calibrated(factor), tokens.NewBudget(b.Window, &tokens.BudgetOptions{Reserve: &b.Reserve})} {
			prompt, reserve, over := b.Prompt(), b.EffectiveReserve(), b.Overflow(estimated)
			if prompt < 1 || reserve < 0 || over < 0 || over > max(0, estimated) {
				t.Fatalf("%+v: prompt %d, reserve %d, overflow %d", b, prompt, reserve, over)
			}
			if b.Known() && (prompt > b.Window || reserve > b.Window-prompt) {
				t.Fatalf("%+v: prompt %d and reserve %d", b, prompt, reserve)
			}
		}
	})
}
