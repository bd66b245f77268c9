package main

// hostFuncs are the recorded functions that package host and its neighbours answer for.
func hostFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{
		"shouldPreemptivelyCompactBeforePrompt": goldenPrecheck,
	}
}
