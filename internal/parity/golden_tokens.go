package main

// tokenFuncs are the recorded functions that package tokens answers for.
func tokenFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{}
}
