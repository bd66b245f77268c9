package transcript

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-contextengine/contextengine/message"
)

// write appends the rows of b to the file.
func (b *fileBackend) write(ctx context.Context, s *session, batch *batch) error {
	if b.f == nil {
		return b.writeNew(ctx, s, batch)
	}
	if err := b.prepare(s); err != nil {
		return fmt.Errorf("writing session %q: %w", s.header.ID, err)
	}
	data := batch.join(b.x.last != nil)
	if err := b.put(data, batch.sync); err != nil {
		return fmt.Errorf("writing session %q: %w", s.header.ID, err)
	}
	batch.moveTo(b.size, b.x.line)
	batch.size = int64(len(data))
	b.size += batch.size
	b.x.end, b.x.whole, b.x.last = b.size, b.size, nil
	b.x.line += int32(len(batch.entries))
	return nil
}

// prepare makes the file one that rows can be appended to.
func (b *fileBackend) prepare(s *session) error {
	if b.x.t.version < currentVersion || b.x.headless {
		return b.migrate(s)
	}
	if b.size > b.x.end {
		return b.setAside()
	}
	return nil
}

// put writes data at the end, all or nothing.
func (b *fileBackend) put(data []byte, turnEnds bool) error {
	n, err := b.f.WriteAt(data, b.size)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil && (b.opts.Sync == SyncEntry || b.opts.Sync == SyncTurn && turnEnds) {
		err = b.f.Sync()
	}
	if err != nil {
		if stuck := b.f.Truncate(b.size); stuck != nil {
			b.undo = undo{from: b.size, data: data}
			err = errors.Join(err, stuck)
		}
		return err
	}
	b.unsynced = b.opts.Sync == SyncTurn && !turnEnds
	return nil
}

// setAside moves a row that was never written to its end out of the session: into a file beside
// it, because it may be all that there is of a message. It needs the lock, and that all lines
// before were read under it.
func (b *fileBackend) setAside() error {
	torn := make([]byte, b.size-b.x.end)
	if _, err := b.f.ReadAt(torn, b.x.end); err != nil && err != io.EOF {
		return err
	}
	name, err := b.freeName(fmt.Sprintf("%s%s%d", b.name, suffixTorn, b.x.end))
	if err != nil {
		return fmt.Errorf("setting a torn row aside: %w", err)
	}
	if err := b.writeFile(name, bytesContent(torn)); err != nil {
		return fmt.Errorf("setting a torn row aside: %w", err)
	}
	if err := b.f.Truncate(b.x.end); err != nil {
		return err
	}
	b.size = b.x.end
	b.x.t.torn = nil
	return nil
}

// content writes what a new file holds.
type content func(w *bufio.Writer) error

// bytesContent is content that is at hand.
func bytesContent(data []byte) content {
	return func(w *bufio.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// writeFile writes a whole new file of the folder and forces it to the disk.
func (b *fileBackend) writeFile(name string, c content) error {
	f, err := b.createFile(name, c)
	if err != nil {
		return err
	}
	return f.Close()
}

func (b *fileBackend) createFile(name string, c content) (storedFile, error) {
	f, err := b.fs.open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(io.NewOffsetWriter(f, 0), readAhead)
	if err = c(w); err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), b.fs.remove(name))
	}
	return f, nil
}

// writeNew stores a session for the first time. The file appears at once with all its rows, so
// that there is never a session without a header. A lazy session waits for an answer.
func (b *fileBackend) writeNew(ctx context.Context, s *session, added *batch) (err error) {
	if b.opts.Lazy && !hasAssistant(added.entries) {
		return memoryBackend{}.write(ctx, s, added)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing session %q: %w", s.header.ID, err)
		}
	}()
	waiting, err := heldBatch(s.t.rows)
	if err != nil {
		return err
	}
	data := append(encodeHeader(s.header, nil), '\n')
	line := int32(1)
	for _, part := range [...]*batch{waiting, added} {
		lines := part.join(false)
		part.moveTo(int64(len(data)), line)
		data = append(data, lines...)
		line += int32(len(part.entries))
	}
	// Nobody else may make a session of this id between looking for it and storing it.
	unlock, err := b.fs.lock(ctx)
	if err != nil {
		return err
	}
	err = b.publishNew(data)
	if err = errors.Join(err, unlock()); err != nil {
		return err
	}
	b.adopt(s, waiting, data, len(waiting.entries)+len(added.entries))
	return nil
}

// publishNew makes the session's file. Where the folder cannot be synced the file may not last:
// it goes again, and while it cannot go either it stays locked, so that nobody uses it.
func (b *fileBackend) publishNew(data []byte) error {
	if b.leftover != nil {
		if err := b.fs.remove(b.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_ = b.leftover.Close() // nothing was written to it since
		b.leftover = nil
	}
	if err := b.free(); err != nil {
		return err
	}
	err := b.publishFile(bytesContent(data), b.exclusively)
	if err == nil || b.f == nil {
		return err
	}
	f := b.f
	b.f, b.locked = nil, nil
	if stuck := b.fs.remove(b.name); stuck != nil {
		b.leftover = f
		return errors.Join(err, stuck)
	}
	return errors.Join(err, f.Close())
}

// exclusively gives a file a name that no other has. It needs the folder's lock: a file system
// without links cannot tell by itself.
func (b *fileBackend) exclusively(from, to string) error {
	err := b.fs.link(from, to)
	switch {
	case err == nil:
		if err := b.fs.remove(from); err != nil {
			return errors.Join(err, b.fs.remove(to))
		}
		return nil
	case errors.Is(err, fs.ErrExist):
		return err
	}
	if _, err := b.fs.lstat(to); err == nil {
		return fs.ErrExist
	}
	return b.fs.rename(from, to)
}

// publishFile makes c the content of the session's file; publish gives it its name.
func (b *fileBackend) publishFile(c content, publish func(from, to string) error) error {
	temp := b.name + suffixTemp + shortID()
	f, err := b.createFile(temp, c)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	// Locked before it has its name: whoever finds it waits until this write is over.
	if ok, lockErr := tryLock(f); !ok && err == nil {
		err = errors.Join(errors.New("locking a new file"), lockErr)
	}
	if err == nil {
		err = publish(temp, b.name)
	}
	if err != nil {
		return errors.Join(err, f.Close(), b.fs.remove(temp))
	}
	b.f, b.info, b.size = f, info, info.Size()
	b.locked = append(b.locked, f)
	return b.fs.sync()
}

// adopt moves rows that were waiting in memory into the file that has them now.
func (b *fileBackend) adopt(s *session, waiting *batch, data []byte, rows int) {
	stored := slices.Clone(s.t.rows)
	for i := range stored {
		at := waiting.rows[i]
		stored[i].held, stored[i].off, stored[i].n, stored[i].line = nil, at.off, at.n, at.line
	}
	s.t.rows, s.t.shared, s.src = stored, false, b.f
	b.x = &indexer{t: s.t, header: s.header, end: int64(len(data)), whole: int64(len(data)), line: int32(1 + rows)}
	b.x.headerLine = encodeHeader(s.header, nil)
}

// heldBatch collects the rows that are only in memory.
func heldBatch(rows []row) (*batch, error) {
	b := &batch{entries: make([]Entry, len(rows)), rows: make([]row, len(rows)), lines: make([][]byte, len(rows))}
	for i := range rows {
		if rows[i].held == nil {
			return nil, errors.New("row is not in memory")
		}
		b.entries[i] = *rows[i].held
		line, err := encodeRow(b.entries[i], rowOwn{})
		if err != nil {
			return nil, err
		}
		b.lines[i] = line
	}
	return b, nil
}

// join writes the rows as lines, and notes where each is.
func (b *batch) join(newlineFirst bool) []byte {
	var out []byte
	if newlineFirst {
		out = append(out, '\n')
	}
	for i, line := range b.lines {
		b.rows[i].off, b.rows[i].n = int64(len(out)), int32(len(line))
		out = append(append(out, line...), '\n')
	}
	return out
}

// moveTo turns offsets within the encoded rows into places in the file.
func (b *batch) moveTo(off int64, line int32) {
	for i := range b.rows {
		b.rows[i].off += off
		b.rows[i].line = line + int32(i) + 1
	}
}

func hasAssistant(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Message != nil && e.Message.Role == message.RoleAssistant
	})
}

// fileName is how the reference names session files: the start of the session and its id.
func fileName(h Header) string {
	return fileStamp(h.Timestamp) + "_" + escapeID(h.ID) + fileExt
}

func fileStamp(t time.Time) string {
	return strings.NewReplacer(":", "-", ".", "-").Replace(t.UTC().Format(timeLayout))
}
