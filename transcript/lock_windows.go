package transcript

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

const (
	lockExclusive       = 2 // LOCKFILE_EXCLUSIVE_LOCK
	lockFailImmediately = 1 // LOCKFILE_FAIL_IMMEDIATELY
	errorLockViolation  = syscall.Errno(33)
	errorIOPending      = syscall.Errno(997)

	// lockHigh puts the locked byte far behind the end of any file: locks are mandatory here, and
	// one on the rows would keep readers out.
	lockHigh = 0x40000000
)

func lockCall(f lockable, name string, args func(fd uintptr, at *syscall.Overlapped) []uintptr) error {
	proc := syscall.NewLazyDLL("kernel32.dll").NewProc(name)
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		at := syscall.Overlapped{OffsetHigh: lockHigh}
		if ok, _, errno := proc.Call(args(fd, &at)...); ok == 0 {
			failed = errno
		}
	})
	return errors.Join(err, failed)
}

// tryLock takes the lock that keeps other processes from writing f.
func tryLock(f lockable) (bool, error) {
	err := lockCall(f, "LockFileEx", func(fd uintptr, at *syscall.Overlapped) []uintptr {
		return []uintptr{fd, lockExclusive | lockFailImmediately, 0, 1, 0, uintptr(unsafe.Pointer(at))}
	})
	if errors.Is(err, errorLockViolation) || errors.Is(err, errorIOPending) {
		return false, nil
	}
	return err == nil, err
}

func unlockFile(f lockable) error {
	return lockCall(f, "UnlockFileEx", func(fd uintptr, at *syscall.Overlapped) []uintptr {
		return []uintptr{fd, 0, 1, 0, uintptr(unsafe.Pointer(at))}
	})
}

// syncFolder does nothing: folders cannot be flushed here.
func syncFolder(*os.File) error { return nil }

func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.Errno(19)) } // ERROR_WRITE_PROTECT
