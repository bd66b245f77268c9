package transcript

import (
	"bytes"
	"cmp"
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
	end        int64  // what is before it has been read
	line       int32  // lines before end

	fields []field
	parts  []part // rows of a batch that is not complete yet
	want   int    // rows of that batch
}

// part is a row of a batch whose end has not been read.
type part struct {
	info rowInfo
	row  row
}

// openIndex reads a whole session file. name is the file's name without folder and extension.
func openIndex(src io.ReaderAt, size int64, name string) (*indexer, error) {
	x := &indexer{t: newTree(currentVersion)}
	if err := x.run(src, size, x.first(name)); err != nil {
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

// follow reads what was appended since.
func (x *indexer) follow(src io.ReaderAt, size int64) error {
	return x.run(src, size, func(l fileLine) error { x.row(l); return nil })
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
	h, err := decodeHeader(l.text)
	if err == nil {
		x.header, x.headerLine = h, bytes.Clone(l.text)
		x.t.version = h.Version
		return nil
	}
	if !isRow(l.text) {
		if _, broken := scanObject(l.text, nil); broken == nil {
			return notSession(fmt.Sprintf("line %d: %v", l.no, err))
		}
		x.t.problem(l.no, "not a session row: %w", err) // the header may still come
		return nil
	}
	x.t.problem(l.no, "the session header is missing")
	x.header, x.headless = Header{ID: name, Version: currentVersion}, true
	x.row(l)
	return nil
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
	r := row{off: l.off, n: int32(len(l.text)), line: l.no}
	switch {
	case err != nil:
		x.flush() // a batch does not go on behind a broken line
		x.t.problem(l.no, "%w", err)
	case x.want > 0:
		x.parts = append(x.parts, part{info, r})
		if len(x.parts) == x.want {
			x.flush()
		}
	case info.batch > 1 && info.bad == nil:
		x.parts, x.want = append(x.parts[:0], part{info, r}), info.batch
	default:
		x.t.add(info, r, l.text)
	}
	if !utf8.Valid(l.text) {
		x.t.problem(l.no, "invalid UTF-8, read as U+FFFD")
	}
}

func (x *indexer) flush() {
	for _, p := range x.parts {
		x.t.add(p.info, p.row, nil)
	}
	x.parts, x.want = nil, 0
}

// run hands the lines behind x.end to handle. A last line that is cut off and a batch that is
// not complete stay unread: they may still be completed.
func (x *indexer) run(src io.ReaderAt, size int64, handle func(fileLine) error) error {
	x.t.torn = nil
	safe := *x // where reading goes on after an incomplete batch
	lines := lineReader{src: src, size: size, at: x.end}
	for {
		text, off, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		line := trimLine(text, off == 0)
		whole := lines.ended || complete(line)
		if !whole {
			x.tear(x.line+1, "the last line is cut off")
			break
		}
		x.line++
		x.end = lines.at
		if len(line) > 0 {
			if err := handle(fileLine{text: line, off: off + int64(bytes.Index(text, line)), no: x.line}); err != nil {
				return err
			}
		}
		if x.want == 0 {
			safe.end, safe.line = x.end, x.line
		}
	}
	if x.want > 0 {
		x.tear(safe.line+1, "rows that were to be appended together are not all there")
		x.parts, x.want = nil, 0
		x.end, x.line = safe.end, safe.line
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
