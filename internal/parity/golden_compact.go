package main

// compactFuncs are the recorded functions that package compact answers for.
func compactFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{}
}
