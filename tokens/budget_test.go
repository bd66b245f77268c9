package tokens_test

import (
	"testing"

	"github.com/go-contextengine/contextengine/tokens"
	"github.com/stretchr/testify/require"
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
