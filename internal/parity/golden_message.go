package main

// messageFuncs are the recorded functions that package message answers for.
func messageFuncs() map[string]goldenFunc {
	return map[string]goldenFunc{}
}
