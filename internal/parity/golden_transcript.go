package main

// transcriptFuncs are the recorded functions that package transcript answers for.
func transcriptFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{}
}
