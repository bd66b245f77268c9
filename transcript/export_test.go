package transcript

import (
	"context"
	"io/fs"
	"path/filepath"
)

// Faults let a test decide what the file system answers. A nil function, or a nil error, lets the
// call through.
type Faults struct {
	Open     func(name string, flag int) error
	WriteAt  func(name string, p []byte, off int64) (n int, err error) // n: bytes that get through
	Truncate func(name string) error
	Sync     func(name string) error
	Rename   func(from, to string) error
	Link     func(from, to string) error
	Lstat    func(name string) error
	Remove   func(name string) error
	SyncDir  func() error
	ReadAt   func(name string, off int64) error
}

// OpenFileTrimming is OpenFile with another size from which rewrites clean up.
func OpenFileTrimming(path string, opts *DirOptions, from int64) (Log, error) {
	log, err := OpenFile(path, opts)
	if err == nil {
		log.(*handle).s.back.(*fileBackend).trimFrom = from
	}
	return log, err
}

// OpenDirWithFaults is OpenDir on a file system with faults.
func OpenDirWithFaults(dir string, opts *DirOptions, f *Faults) (Store, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &DirOptions{}
	}
	return newDirStore(&faultyFS{root, f}, *opts), nil
}

// OpenFileWithFaults is OpenFile on a file system with faults.
func OpenFileWithFaults(path string, opts *DirOptions, f *Faults) (Log, error) {
	root, err := openFolder(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	s, err := openStored(context.Background(), &faultyFS{root, f}, filepath.Base(path), path, opts)
	if err != nil {
		return nil, err
	}
	return &handle{s: s, release: s.close}, nil
}

// ScanObject checks a line the way opening does.
func ScanObject(line []byte) error {
	_, err := scanObject(line, nil)
	return err
}

type faultyFS struct {
	fileSystem
	f *Faults
}

func (d *faultyFS) open(name string, flag int) (storedFile, error) {
	if d.f.Open != nil {
		if err := d.f.Open(name, flag); err != nil {
			return nil, err
		}
	}
	file, err := d.fileSystem.open(name, flag)
	if err != nil {
		return nil, err
	}
	return &faultyFile{file, name, d.f}, nil
}

func (d *faultyFS) rename(from, to string) error {
	if d.f.Rename != nil {
		if err := d.f.Rename(from, to); err != nil {
			return err
		}
	}
	return d.fileSystem.rename(from, to)
}

func (d *faultyFS) link(from, to string) error {
	if d.f.Link != nil {
		if err := d.f.Link(from, to); err != nil {
			return err
		}
	}
	return d.fileSystem.link(from, to)
}

func (d *faultyFS) remove(name string) error {
	if d.f.Remove != nil {
		if err := d.f.Remove(name); err != nil {
			return err
		}
	}
	return d.fileSystem.remove(name)
}

func (d *faultyFS) sync() error {
	if d.f.SyncDir != nil {
		if err := d.f.SyncDir(); err != nil {
			return err
		}
	}
	return d.fileSystem.sync()
}

func (d *faultyFS) lstat(name string) (fs.FileInfo, error) {
	if d.f.Lstat != nil {
		if err := d.f.Lstat(name); err != nil {
			return nil, err
		}
	}
	return d.fileSystem.lstat(name)
}

type faultyFile struct {
	storedFile
	name string
	f    *Faults
}

func (x *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if x.f.WriteAt != nil {
		if n, err := x.f.WriteAt(x.name, p, off); err != nil {
			n, _ = x.storedFile.WriteAt(p[:n], off)
			return n, err
		}
	}
	return x.storedFile.WriteAt(p, off)
}

func (x *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if x.f.ReadAt != nil {
		if err := x.f.ReadAt(x.name, off); err != nil {
			return 0, err
		}
	}
	return x.storedFile.ReadAt(p, off)
}

func (x *faultyFile) Truncate(size int64) error {
	if x.f.Truncate != nil {
		if err := x.f.Truncate(x.name); err != nil {
			return err
		}
	}
	return x.storedFile.Truncate(size)
}

func (x *faultyFile) Sync() error {
	if x.f.Sync != nil {
		if err := x.f.Sync(x.name); err != nil {
			return err
		}
	}
	return x.storedFile.Sync()
}
