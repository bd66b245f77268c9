//go:build race

package bpe_test

// The race detector makes sync.Pool forget at random, so allocations cannot be counted.
const raceEnabled = true
