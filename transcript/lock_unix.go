//go:build unix

package transcript

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock that keeps other processes from writing f. The lock belongs to the open
// file, so two logs in one process exclude each other as well; the system drops it when the
// process ends, however it ends.
func tryLock(f lockable) (bool, error) {
	var locked error
	err := control(f, func(fd uintptr) {
		locked = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
	})
	switch {
	case err != nil:
		return false, err
	case locked == nil:
		return true, nil
	case errors.Is(locked, syscall.EWOULDBLOCK) || errors.Is(locked, syscall.EINTR):
		return false, nil
	}
	return false, os.NewSyscallError("flock", locked)
}

func unlockFile(f lockable) error {
	var unlocked error
	err := control(f, func(fd uintptr) { unlocked = syscall.Flock(int(fd), syscall.LOCK_UN) })
	return errors.Join(err, os.NewSyscallError("flock", unlocked))
}

func control(f lockable, do func(fd uintptr)) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(do)
}

func syncFolder(f *os.File) error { return f.Sync() }

func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }
