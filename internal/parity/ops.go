package main

import "maps"

// operations is the table of every operation of the language.
func operations() map[string]opFunc {
	all := map[string]opFunc{}
	for _, area := range []map[string]opFunc{
		registryOps(), callOps(), inspectOps(), hostOps(), safeOps(), turnOps(), childOps(), precheckOps(), memoryOps(), laterOps(),
	} {
		maps.Copy(all, area)
	}
	return all
}
