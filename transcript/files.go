package transcript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// storedFile is what the file store needs of an open file.
type storedFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
	Stat() (fs.FileInfo, error)
	SyscallConn() (syscall.RawConn, error)
}

// fileSystem is one folder. It is an interface so that tests can let any step fail.
type fileSystem interface {
	open(name string, flag int) (storedFile, error)
	lstat(name string) (fs.FileInfo, error)
	rename(from, to string) error
	link(from, to string) error
	remove(name string) error
	list() ([]string, error)
	sync() error
	// lock keeps others from making new sessions until the returned function is called.
	lock(ctx context.Context) (unlock func() error, err error)
	close() error
}

// What the names of files beside a session begin with, behind its own.
const (
	suffixTemp    = ".tmp-"     // about to become the session, or left by a process that ended
	suffixTorn    = ".torn-"    // a row that was not written to its end
	suffixRepair  = ".bak-"     // the file before a repair
	suffixCorrupt = ".corrupt-" // the file before it got a header
)

// besides reports whether name is a file that was kept beside the session file.
func besides(name, file string) bool {
	rest, ok := strings.CutPrefix(name, file)
	if !ok {
		return false
	}
	for _, suffix := range [...]string{suffixTemp, suffixTorn, suffixRepair, suffixCorrupt} {
		if strings.HasPrefix(rest, suffix) {
			return true
		}
	}
	return migratedName.MatchString(rest)
}

// migratedName is the end of the name of a file before its migration, see [fileBackend.migrate].
var migratedName = regexp.MustCompile(`^\.v\d+\.bak(\.\d+)?$`)

// lockPoll is the pause between attempts to take a lock that another process holds.
const lockPoll = 2 * time.Millisecond

// lockable is an open file or folder.
type lockable interface {
	SyscallConn() (syscall.RawConn, error)
}

func waitLock(ctx context.Context, f lockable) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		ok, err := tryLock(f)
		if ok || err != nil {
			return err
		}
		timer.Reset(lockPoll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Permissions of what the store makes: a conversation is nobody else's business.
const (
	fileMode = 0o600
	dirMode  = 0o700
)

// folder is a fileSystem that cannot be left: names with .. and links that lead out of it fail.
type folder struct{ root *os.Root }

func openFolder(dir string) (fileSystem, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return folder{root}, nil
}

func (d folder) open(name string, flag int) (storedFile, error) {
	f, err := d.root.OpenFile(name, flag, fileMode)
	if err != nil {
		return nil, err // a nil *os.File must not become a non-nil interface
	}
	return f, nil
}

func (d folder) lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }
func (d folder) rename(from, to string) error           { return d.root.Rename(from, to) }
func (d folder) link(from, to string) error             { return d.root.Link(from, to) }
func (d folder) remove(name string) error               { return d.root.Remove(name) }
func (d folder) close() error                           { return d.root.Close() }

func (d folder) list() ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// folderLock is the file that is locked where folders cannot be.
const folderLock = ".lock"

func (d folder) lock(ctx context.Context) (func() error, error) {
	f, err := d.root.Open(".")
	if err == nil {
		err = waitLock(ctx, f)
	}
	if err != nil && ctx.Err() == nil { // a system, or a file system, that locks only files
		if f != nil {
			_ = f.Close() // nothing was done with it
		}
		if f, err = d.root.OpenFile(folderLock, os.O_RDWR|os.O_CREATE, fileMode); err == nil {
			err = waitLock(ctx, f)
		}
	}
	if err != nil {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		return nil, fmt.Errorf("locking the folder: %w", err)
	}
	return f.Close, nil // which drops the lock
}

// sync makes a rename durable.
func (d folder) sync() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return syncFolder(f)
}
