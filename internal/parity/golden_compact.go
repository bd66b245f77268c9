package main

import "maps"

// compactFuncs are the recorded functions that package compact answers for.
func compactFuncs() map[string]goldenFunc {
	all := map[string]goldenFunc{}
	maps.Copy(all, overflowFuncs())
	return all
}
