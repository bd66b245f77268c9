//go:build race

package tokens_test

// The race detector makes everything several times slower, so times say nothing.
const raceEnabled = true
