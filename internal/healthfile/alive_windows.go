package healthfile

import "os"

// processAlive: Windows opens only processes that exist.
func processAlive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return p.Release() == nil
}
