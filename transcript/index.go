package transcript

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// readChunk is how much of a session file is in memory while it is indexed; a longer line makes
// it more.
const readChunk = 1 << 20

// notSession says why a file is no session.
type notSession string

func (n notSession) Error() string { return string(n) }

// indexer reads a session file into a tree, and goes on where it stopped when the file has grown.
type indexer struct {
	t          *tree
	header     Header
	headerLine []byte // as stored
	headless   bool   // the header is missing and made up

	end   int64  // what is before it is in the tree
	line  int32  // lines before end
	whole int64  // what is before it is made of whole lines, those of parts included
	lines int32  // lines before whole
	last  []byte // the line before whole, when its newline is not there yet

	fields []field
	parts  []part // rows of a batch whose last row has not been read, behind end
}

// part is a row that may still turn out to be none.
type part struct {
	info rowInfo
	row  row
	err  error // a line that is no row
}

// openIndex reads a whole session file. name is the file's name without folder and extension.
func openIndex(ctx context.Context, src io.ReaderAt, size int64, name string) (*indexer, error) {
	x := &indexer{t: newTree(currentVersion)}
	err := x.run(ctx, src, size, x.first(name))
	if errors.Is(err, errHeadless) { // the broken lines before were rows too
		at := x.lines
		x = &indexer{t: newTree(currentVersion), header: x.header, headless: true}
		err = x.run(ctx, src, size, func(l fileLine) error {
			if l.no == at {
				x.t.problem(at, "the session header is missing")
			}
			x.row(l)
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	if x.header.ID == "" {
		if size == 0 {
			return nil, notSession("the file is empty")
		}
		return nil, notSession("no line is a session header or a row")
	}
	return x, nil
}

// errHeadless: rows begin after broken lines, without a header.
var errHeadless = errors.New("the session header is missing")

// follow reads what was appended since.
func (x *indexer) follow(src io.ReaderAt, size int64) error {
	return x.run(context.Background(), src, size, func(l fileLine) error { x.row(l); return nil })
}

// first returns the handler that expects the header; rows follow.
func (x *indexer) first(name string) func(fileLine) error {
	return func(l fileLine) error {
		if x.header.ID != "" {
			x.row(l)
			return nil
		}
		return x.readHeader(l, name)
	}
}

func (x *indexer) readHeader(l fileLine, name string) error {
	h, why, err := headerOf(l.text, name)
	switch {
	case err != nil:
		return notSession(fmt.Sprintf("line %d: %v", l.no, err))
	case h.ID == "":
		x.t.problem(l.no, "not a session row: %w", why) // the header may still come
	case why != nil && l.no > 1:
		x.header = h
		return errHeadless
	case why != nil:
		x.t.problem(l.no, "the session header is missing")
		x.header, x.headless = h, true
		x.row(l)
	default:
		x.header, x.headerLine = h, bytes.Clone(l.text)
		x.t.version = h.Version
	}
	return nil
}

// headerOf reads the header in the first line of a file. A row in its place gives a header that is
// made up from the file's name, with the reason; a broken line gives none. What is neither makes
// the file no session, which is the error.
func headerOf(line []byte, name string) (h Header, why, err error) {
	h, why = decodeHeader(line)
	if why == nil {
		return h, nil, nil
	}
	if isRow(line) {
		return Header{ID: idOfName(name), Version: currentVersion}, why, nil
	}
	if _, broken := scanObject(line, nil); broken != nil {
		return Header{}, why, nil
	}
	return Header{}, nil, why
}

// isRow reports whether line looks like a row of a session.
func isRow(line []byte) bool {
	fields, err := scanObject(line, nil)
	if err != nil {
		return false
	}
	info, err := readInfo(fields, nil)
	return err == nil && kindOf(info.typ) != kindOpaque && info.hasID
}

// row indexes one complete line.
func (x *indexer) row(l fileLine) {
	var err error
	x.fields, err = scanObject(l.text, x.fields[:0])
	info, err := readInfo(x.fields, err)
	p := part{info, row{off: l.off, n: int32(len(l.text)), line: l.no}, err}
	if err == nil && !utf8.Valid(l.text) {
		x.t.problem(l.no, "invalid UTF-8, read as U+FFFD")
	}
	mark := info.own.batch
	switch ours := err == nil && mark.valid() && info.hasID; {
	case ours && mark.rows > 1:
		x.batched(p, mark)
	case err != nil && len(x.parts) > 0:
		x.parts = append(x.parts, p) // damage: what the line was is not known
	default:
		x.abandon()
		x.place(p, l.text)
	}
}

// batched holds a row back until the last one of its batch is there.
func (x *indexer) batched(p part, mark batchMark) {
	for i := len(x.parts) - 1; i >= 0; i-- {
		before := x.parts[i].info.own.batch
		if x.parts[i].err != nil {
			continue
		}
		if before.id != mark.id || before.n >= mark.n || before.rows != mark.rows {
			x.abandon()
		}
		break
	}
	x.parts = append(x.parts, p)
	if mark.n == mark.rows {
		x.flush()
	}
}

// flush places the rows held back.
func (x *indexer) flush() {
	for _, p := range x.parts {
		x.place(p, nil)
	}
	x.parts = nil
}

// abandon places the rows held back as what they are when the end of their batch does not come:
// rows of an append that failed. They stay where another program may have gone on from them.
func (x *indexer) abandon() {
	for i := range x.parts {
		x.parts[i].info.void = true
	}
	x.flush()
}

func (x *indexer) place(p part, raw []byte) {
	if p.err != nil {
		x.t.problem(p.row.line, "%w", p.err)
		return
	}
	x.t.add(p.info, p.row, raw)
}

// give makes what is held back part of the tree: nobody will complete it.
func (x *indexer) give() {
	x.abandon()
	x.end, x.line = x.whole, x.lines
}

// resume makes sure that a last line that had no newline still is what was read. A newline that
// came since belongs to it.
func (x *indexer) resume(src io.ReaderAt, size int64) (bool, error) {
	if x.last == nil || x.whole != x.end {
		return true, nil
	}
	now := make([]byte, min(int64(len(x.last))+1, size-x.end+int64(len(x.last))))
	if _, err := src.ReadAt(now, x.end-int64(len(x.last))); err != nil && err != io.EOF {
		return false, err
	}
	rest, same := bytes.CutPrefix(now, x.last)
	switch {
	case !same || len(rest) > 0 && rest[0] != '\n':
		return false, nil
	case len(rest) > 0:
		x.end++
		x.whole, x.last = x.end, nil
	}
	return true, nil
}

// run hands the lines behind x.end to handle. A last line that is cut off and a batch that is
// not complete stay unread: they may still be completed.
func (x *indexer) run(ctx context.Context, src io.ReaderAt, size int64, handle func(fileLine) error) error {
	x.t.torn, x.parts = nil, nil
	x.whole, x.lines = x.end, x.line
	problems := len(x.t.problems)
	lines := lineReader{src: src, size: size, at: x.end}
	for {
		text, off, err := lines.next()
		if err == io.EOF {
			break
		}
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		line := trimLine(text, off == 0)
		if !lines.ended && !complete(line) {
			x.tear(x.lines+1, "the last line is cut off")
			break
		}
		x.whole, x.last = lines.at, nil
		x.lines++
		if !lines.ended {
			x.last = bytes.Clone(text)
		}
		if len(line) > 0 {
			if err := handle(fileLine{text: line, off: off + int64(bytes.Index(text, line)), no: x.lines}); err != nil {
				return err
			}
		}
		if len(x.parts) == 0 {
			x.end, x.line, problems = x.whole, x.lines, len(x.t.problems)
		}
	}
	if len(x.parts) > 0 {
		x.tear(x.line+1, "rows that were to be appended together are not all there")
		x.t.problems = x.t.problems[:problems]
	}
	return nil
}

func (x *indexer) tear(line int32, text string) {
	x.t.torn = &Problem{Line: int(line), Err: errors.New(text)}
}

// complete reports whether a line without a newline is a whole row all the same.
func complete(line []byte) bool {
	_, err := scanObject(line, nil)
	return err == nil || len(line) == 0
}

// trimLine removes what surrounds a row: white space and, at the start of a file, a byte order mark.
func trimLine(line []byte, start bool) []byte {
	if start {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return bytes.Trim(line, " \t\r\n")
}

// fileLine is a line with its place in the file.
type fileLine struct {
	text []byte // valid until the next line
	off  int64
	no   int32
}

// lineReader reads a file line by line without holding more than a chunk or the longest line.
type lineReader struct {
	src   io.ReaderAt
	size  int64
	at    int64 // start of the next line
	buf   []byte
	from  int64 // file position of buf
	ended bool  // the last line ended in a newline
	chunk int   // how much is read at once; 0: readChunk
}

// next returns the next line without its newline, and where it starts.
func (l *lineReader) next() ([]byte, int64, error) {
	if l.at >= l.size {
		return nil, 0, io.EOF
	}
	searched := 0
	for {
		rest := l.buf[min(int64(len(l.buf)), l.at-l.from):]
		if i := bytes.IndexByte(rest[searched:], '\n'); i >= 0 {
			off := l.at
			l.at += int64(searched + i + 1)
			l.ended = true
			return rest[:searched+i], off, nil
		}
		searched = len(rest)
		if l.from+int64(len(l.buf)) >= l.size {
			off := l.at
			l.at, l.ended = l.size, false
			return rest, off, nil
		}
		if len(rest) > math.MaxInt32 {
			return nil, 0, fmt.Errorf("line at byte %d is longer than 2 GiB", l.at)
		}
		if err := l.more(rest); err != nil {
			return nil, 0, err
		}
	}
}

// more keeps rest and reads behind it.
func (l *lineReader) more(rest []byte) error {
	want := max(cmp.Or(l.chunk, readChunk), 2*len(rest))
	buf := l.buf
	if cap(buf) < want {
		buf = make([]byte, want)
	}
	buf = buf[:cap(buf)]
	kept := copy(buf, rest)
	l.from = l.at
	room := min(int64(len(buf)-kept), l.size-l.from-int64(kept))
	n, err := l.src.ReadAt(buf[kept:kept+int(room)], l.from+int64(kept))
	l.buf = buf[:kept+n]
	if n > 0 {
		return nil
	}
	if err == nil || err == io.EOF { // the file has become shorter
		err = io.ErrUnexpectedEOF
	}
	return err
}
