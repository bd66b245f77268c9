package transcript

import (
	"io"
	"io/fs"
	"os"
	"syscall"
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
	close() error
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

// sync makes a rename durable.
func (d folder) sync() error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return syncFolder(f)
}
