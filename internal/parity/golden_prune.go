package main

// pruneFuncs are the recorded functions that package prune answers for.
func pruneFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{}
}
