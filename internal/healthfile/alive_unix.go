//go:build !windows

package healthfile

import (
	"errors"
	"os"
	"syscall"
)

// processAlive asks with the null signal; "not permitted" means it is there.
func processAlive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}
