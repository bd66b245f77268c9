package transcript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"slices"
	"strings"
)

// OpenDir returns the store of the session files in dir, which is made when it is missing. It
// stays within dir: ids that would lead elsewhere are an [*InvalidIDError], and links are not
// followed. Files are readable by their owner only. A new session's file is called
// TIMESTAMP_ID.jsonl, as OpenClaw and pi call it; sessions are found whatever the name of their
// file, by the id in its header.
func OpenDir(dir string, opts *DirOptions) (Store, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("opening store %q: %w", dir, err)
	}
	if dir == "" {
		return nil, errors.New("opening store: no folder is named")
	}
	if opts == nil {
		opts = &DirOptions{}
	}
	if !opts.ReadOnly {
		if err := os.MkdirAll(dir, dirMode); err != nil {
			return nil, fmt.Errorf("opening store: %w", err)
		}
	}
	root, err := openFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	return newDirStore(root, *opts), nil
}

func newDirStore(root fileSystem, opts DirOptions) *dirStore {
	return &dirStore{settings: opts.settings(), opts: opts, fs: root, sessions: newRegistry()}
}

// headerChunk is how much of a file is read for its header, which is seldom longer.
const headerChunk = 4 << 10

// dirStore keeps sessions as files of one folder.
type dirStore struct {
	settings
	opts     DirOptions
	fs       fileSystem
	sessions *registry
}

// Follows implements [Follower]: every call looks at the file.
func (*dirStore) Follows() bool { return true }

func (st *dirStore) Create(ctx context.Context, h Header) (Log, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if st.opts.ReadOnly {
		return nil, fmt.Errorf("creating session: the store is read-only: %w", fs.ErrPermission)
	}
	made := h.ID == ""
	if err := h.complete(st.now); err != nil {
		return nil, fmt.Errorf("creating session: %w", err)
	}
	log, err := st.sessions.create(ctx, h.ID, func() (*session, error) {
		free := func() error { return st.free(h.ID) }
		if made {
			free = func() error { return nil } // nobody else has an id that was just made
		}
		if err := free(); err != nil {
			return nil, err
		}
		b := &fileBackend{opts: st.opts, fs: st.fs, name: fileName(h), free: free}
		return newSession(st.settings, h, newTree(currentVersion), nil, b), nil
	})
	if err != nil {
		return nil, fmt.Errorf("creating session %q: %w", h.ID, err)
	}
	return log, nil
}

// free makes sure that no session has an id.
func (st *dirStore) free(id string) error {
	switch _, err := st.find(id); {
	case err == nil:
		return fs.ErrExist
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

func (st *dirStore) Open(ctx context.Context, sessionID string) (Log, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	log, err := st.sessions.open(ctx, sessionID, func() (*session, error) {
		name, err := st.find(sessionID)
		if err != nil {
			return nil, err
		}
		return openStored(ctx, st.fs, name, name, &st.opts)
	})
	if err != nil {
		return nil, fmt.Errorf("opening session %q: %w", sessionID, err)
	}
	return log, nil
}

func (st *dirStore) List(ctx context.Context) iter.Seq2[Header, error] {
	return func(yield func(Header, error) bool) {
		headers, failed, err := st.headers()
		if err != nil {
			yield(Header{}, fmt.Errorf("listing sessions: %w", err))
			return
		}
		for _, h := range headers {
			if ctx.Err() != nil {
				yield(Header{}, context.Cause(ctx))
				return
			}
			if !yield(h, nil) {
				return
			}
		}
		for _, err := range failed {
			if !yield(Header{}, fmt.Errorf("listing sessions: %w", err)) {
				return
			}
		}
	}
}

// headers reads the headers of all files, and of the sessions that have none yet.
func (st *dirStore) headers() ([]Header, []error, error) {
	open := st.sessions.headers()
	names, err := st.sessionFiles()
	if err != nil {
		return nil, nil, err
	}
	var out []Header
	var failed []error
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		h, err := st.readHeader(name)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		seen[h.ID] = true
		out = append(out, h)
	}
	for _, h := range open {
		if !seen[h.ID] {
			out = append(out, h)
		}
	}
	sortHeaders(out)
	return out, failed, nil
}

func (st *dirStore) Fork(ctx context.Context, sessionID, leafEntryID string) (Log, error) {
	return fork(ctx, st, sessionID, leafEntryID)
}

func (st *dirStore) Rotate(ctx context.Context, sessionID string, successor Header) (Log, error) {
	return rotate(ctx, st, sessionID, successor)
}

func (st *dirStore) Delete(ctx context.Context, sessionID string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if st.opts.ReadOnly {
		return fmt.Errorf("deleting session %q: the store is read-only: %w", sessionID, fs.ErrPermission)
	}
	err := st.sessions.remove(ctx, sessionID, func(open *session) error {
		name, err := st.find(sessionID)
		switch {
		case err == nil:
			return st.removeFile(name)
		case errors.Is(err, fs.ErrNotExist) && open != nil && len(open.snap.Load().rows) == 0:
			return nil // never written
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("deleting session %q: %w", sessionID, err)
	}
	return nil
}

// sessionFiles lists the names of session files in the order of their names, which is their age.
func (st *dirStore) sessionFiles() ([]string, error) {
	names, err := st.fs.list()
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasSuffix(name, fileExt) || strings.Index(name, fileExt) != len(name)-len(fileExt) // files kept beside a session have it inside
	})
	slices.Sort(names)
	return names, nil
}

// removeFile removes a session file, and before it what was kept beside it: that is the same
// conversation.
func (st *dirStore) removeFile(name string) error {
	names, err := st.fs.list()
	if err != nil {
		return err
	}
	for _, other := range names {
		if besides(other, name) {
			if err := st.fs.remove(other); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return st.fs.remove(name)
}

// find returns the file of a session. Files named after it come first; but a name is only a hint,
// because other programs rename files and give them another header.
func (st *dirStore) find(id string) (string, error) {
	if err := checkSessionID(id); err != nil {
		return "", err
	}
	names, err := st.sessionFiles()
	if err != nil {
		return "", err
	}
	want := escapeID(id)
	named := func(name string) bool {
		stem := strings.TrimSuffix(name, fileExt)
		return stem == want || strings.HasSuffix(stem, "_"+want)
	}
	var unreadable error
	for _, wanted := range [...]bool{true, false} {
		for _, name := range names {
			if named(name) != wanted {
				continue
			}
			h, err := st.readHeader(name)
			if err == nil && h.ID == id {
				return name, nil
			}
			if err != nil && wanted && idOfName(strings.TrimSuffix(name, fileExt)) == id {
				unreadable = err
			}
		}
	}
	return "", cmp.Or(unreadable, error(fs.ErrNotExist))
}

// readHeader reads the header of a file as opening does.
func (st *dirStore) readHeader(name string) (Header, error) {
	info, err := st.fs.lstat(name)
	if err != nil {
		return Header{}, err
	}
	if !info.Mode().IsRegular() {
		return Header{}, &NotSessionError{Path: name, Reason: "not a regular file"}
	}
	f, err := st.fs.open(name, os.O_RDONLY)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	lines := lineReader{src: f, size: info.Size(), chunk: headerChunk}
	for {
		text, off, err := lines.next()
		if err == io.EOF {
			return Header{}, &NotSessionError{Path: name, Reason: "the file is empty"}
		}
		if err != nil {
			return Header{}, err
		}
		line := trimLine(text, off == 0)
		if len(line) == 0 {
			continue
		}
		h, _, err := headerOf(line, strings.TrimSuffix(name, fileExt))
		if err != nil {
			return Header{}, &NotSessionError{Path: name, Reason: err.Error()}
		}
		if h.ID != "" {
			return h, nil
		}
	}
}

// idOfName is the session id that a file without a header gets from its name: what [fileName] put
// into it, or all of it.
func idOfName(stem string) string {
	if stamp, rest, ok := strings.Cut(stem, "_"); ok && len(stamp) == len(timeLayout) {
		stem = rest
	}
	id, err := url.PathUnescape(stem)
	if err != nil {
		return stem
	}
	return id
}

// escapeID writes a session id so that every file system takes it as part of a name.
func escapeID(id string) string {
	var b strings.Builder
	dots := !strings.Contains(id, fileExt) // inside a name it marks files kept beside a session
	for _, c := range []byte(id) {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && dots
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
