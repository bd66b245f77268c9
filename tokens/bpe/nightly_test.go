//go:build nightly

package bpe_test

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// The long form of TestExhaustiveShortStringsEqualOracle.
func TestNightlyExhaustiveLengthFive(t *testing.T) {
	t.Parallel()
	for _, p := range mustOracles(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			requireSameForAll(t, p, 5)
		})
	}
}

// The long form of TestRandomStringsEqualOracle, over every plane.
func TestNightlyRandomRunes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 12))
	for _, p := range mustOracles(t) {
		for range 20_000 {
			s := randomRunes(rng, rng.IntN(30)) + strings.Repeat(blankAlphabet[rng.IntN(len(blankAlphabet))], rng.IntN(5)) + randomRunes(rng, rng.IntN(30))
			requireSame(t, p, s)
		}
	}
}
