package transcript

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// write appends the rows of b to the file.
func (b *fileBackend) write(ctx context.Context, s *session, batch *batch) error {
	if b.f == nil {
		return b.writeNew(ctx, s, batch)
	}
	if err := b.prepare(s); err != nil {
		return fmt.Errorf("writing session %q: %w", s.header.ID, err)
	}
	data, err := batch.encode(b.needNewline())
	if err != nil {
		return err
	}
	if err := b.put(data, b.size, batch.sync); err != nil {
		return fmt.Errorf("writing session %q: %w", s.header.ID, err)
	}
	batch.moveTo(b.size, b.x.line)
	batch.size = int64(len(data))
	b.size += batch.size
	b.x.end = b.size
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

// needNewline reports whether the last row of the file lacks its newline.
func (b *fileBackend) needNewline() bool {
	var last [1]byte
	if b.size == 0 {
		return false
	}
	n, err := b.f.ReadAt(last[:], b.size-1)
	return n != 1 || err != nil && err != io.EOF || last[0] != '\n'
}

// put writes data at off, all or nothing.
func (b *fileBackend) put(data []byte, off int64, turnEnds bool) error {
	n, err := b.f.WriteAt(data, off)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil && (b.opts.Sync == SyncEntry || b.opts.Sync == SyncTurn && turnEnds) {
		err = b.f.Sync()
	}
	if err != nil {
		// What cannot be taken back is found as a torn row by the next append.
		return errors.Join(err, b.f.Truncate(off))
	}
	b.unsynced = b.opts.Sync == SyncTurn && !turnEnds
	return nil
}

// setAside moves what is left of an append that never finished out of the session: into a file
// beside it, because it may be all that there is of a message.
func (b *fileBackend) setAside() error {
	torn := make([]byte, b.size-b.x.end)
	if _, err := b.f.ReadAt(torn, b.x.end); err != nil && err != io.EOF {
		return err
	}
	name, err := b.freeName(fmt.Sprintf("%s.torn-%d", b.name, b.x.end))
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
	f, err := b.fs.open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
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
func (b *fileBackend) writeNew(ctx context.Context, s *session, added *batch) error {
	if b.opts.Lazy && !hasAssistant(added.entries) {
		return memoryBackend{}.write(ctx, s, added)
	}
	if err := b.free(); err != nil { // another process may have made it meanwhile
		return fmt.Errorf("writing session %q: %w", s.header.ID, err)
	}
	waiting, err := heldBatch(s.t.rows)
	if err != nil {
		return err
	}
	data := append(encodeHeader(s.header, nil), '\n')
	line := int32(1)
	for _, part := range [...]*batch{waiting, added} {
		lines, err := part.encode(false)
		if err != nil {
			return err
		}
		part.moveTo(int64(len(data)), line)
		data = append(data, lines...)
		line += int32(len(part.entries))
	}
	if err := b.publishFile(bytesContent(data)); err != nil {
		if b.f != nil { // it has its name, but that may not last
			err = errors.Join(err, b.fs.remove(b.name), b.f.Close())
			b.f = nil
		}
		return fmt.Errorf("writing session %q: %w", s.header.ID, err)
	}
	b.adopt(s, waiting, data, len(waiting.entries)+len(added.entries))
	return nil
}

// publishFile makes c the content of the session's file, replacing what was there.
func (b *fileBackend) publishFile(c content) error {
	temp := b.name + ".tmp"
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
		err = b.fs.rename(temp, b.name)
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
	stored := make([]row, len(s.t.rows))
	copy(stored, s.t.rows)
	for i := range stored {
		at := waiting.rows[i]
		stored[i].held, stored[i].off, stored[i].n, stored[i].line = nil, at.off, at.n, at.line
	}
	s.t.rows, s.t.shared, s.src = stored, false, b.f
	b.x = &indexer{t: s.t, header: s.header, end: int64(len(data)), line: int32(1 + rows)}
	b.x.headerLine = encodeHeader(s.header, nil)
}

// heldBatch collects the rows that are only in memory.
func heldBatch(rows []row) (*batch, error) {
	b := &batch{entries: make([]Entry, len(rows)), own: make([]rowOwn, len(rows)), rows: make([]row, len(rows))}
	for i := range rows {
		if rows[i].held == nil {
			return nil, errors.New("row is not in memory")
		}
		b.entries[i] = *rows[i].held
	}
	return b, nil
}

// encode writes the rows as lines, and notes how long each is.
func (b *batch) encode(newlineFirst bool) ([]byte, error) {
	var out []byte
	if newlineFirst {
		out = append(out, '\n')
	}
	for i := range b.entries {
		line, err := encodeRow(b.entries[i], b.own[i])
		if err != nil {
			return nil, err
		}
		b.rows[i].off, b.rows[i].n = int64(len(out)), int32(len(line))
		out = append(append(out, line...), '\n')
	}
	return out, nil
}

// moveTo turns offsets within the encoded rows into places in the file.
func (b *batch) moveTo(off int64, line int32) {
	for i := range b.rows {
		b.rows[i].off += off
		b.rows[i].line = line + int32(i) + 1
	}
}

func hasAssistant(entries []Entry) bool {
	for _, e := range entries {
		if e.Message != nil && e.Message.Role == "assistant" {
			return true
		}
	}
	return false
}

// fileName is how the reference names session files: the start of the session and its id.
func fileName(h Header) string {
	return fileStamp(h.Timestamp) + "_" + escapeID(h.ID) + fileExt
}

func fileStamp(t time.Time) string {
	return strings.NewReplacer(":", "-", ".", "-").Replace(t.UTC().Format(timeLayout))
}
