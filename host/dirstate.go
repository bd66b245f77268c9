package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	ce "github.com/go-contextengine/contextengine"
)

// ErrTornState is what [DirState] answers for a value that was not written whole
// or was changed since.
var ErrTornState = errors.New("stored state is torn")

// DirState returns a StateStore that keeps the values of a session in a folder of
// its own under dir, which may be the folder of the session files. A value is
// replaced atomically and carries a checksum.
func DirState(dir string) StateStore { return dirState(dir) }

type dirState string

// stateHeader starts every file: format, checksum and length.
const stateHeader = "contextengine-state 1 %08x %d\n"

// longestName keeps file names below what file systems take, suffixes included.
const longestName = 200

func (d dirState) folder(ref ce.SessionRef) string {
	return filepath.Join(string(d), fileName(ref.SessionID)+".state")
}

func (d dirState) Load(ctx context.Context, ref ce.SessionRef, name string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	raw, err := os.ReadFile(filepath.Join(d.folder(ref), fileName(name)))
	if err != nil {
		return nil, fmt.Errorf("loading state %q: %w", name, err)
	}
	head, value, found := bytes.Cut(raw, []byte("\n"))
	if !found || string(head)+"\n" != header(value) {
		return nil, fmt.Errorf("loading state %q: %w", name, ErrTornState)
	}
	return value, nil
}

func (d dirState) Save(ctx context.Context, ref ce.SessionRef, name string, value []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	folder := d.folder(ref)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("saving state %q: %w", name, err)
	}
	if err := writeWhole(folder, fileName(name), append([]byte(header(value)), value...)); err != nil {
		return fmt.Errorf("saving state %q: %w", name, err)
	}
	return nil
}

func (d dirState) Delete(ctx context.Context, ref ce.SessionRef) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := os.RemoveAll(d.folder(ref)); err != nil {
		return fmt.Errorf("deleting the state of session %q: %w", ref.SessionID, err)
	}
	return nil
}

func header(value []byte) string {
	return fmt.Sprintf(stateHeader, crc32.ChecksumIEEE(value), len(value))
}

// writeWhole writes a file beside its place and then puts it there.
func writeWhole(folder, name string, raw []byte) error {
	f, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(folder, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// fileName makes any text a file name that every file system takes and keeps
// apart: lower-case letters, digits, '-' and '_' stay, all else is escaped.
func fileName(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	if name := b.String(); len(name) <= longestName {
		return name
	}
	return fmt.Sprintf("%s%%%08x", b.String()[:longestName], crc32.ChecksumIEEE([]byte(text)))
}
