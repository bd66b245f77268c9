package transcript

import (
	"fmt"
	"io/fs"
)

// A NotSessionError says that a file is not a session.
type NotSessionError struct {
	Path   string
	Reason string // empty file, first line is not a session header, …
}

// Error implements error.
func (e *NotSessionError) Error() string {
	return fmt.Sprintf("%q is not a session: %s", e.Path, e.Reason)
}

// An EntryNotFoundError says that a log has no such entry, or not where it would have to be.
type EntryNotFoundError struct{ ID string }

// Error implements error.
func (e *EntryNotFoundError) Error() string { return fmt.Sprintf("entry %q not found", e.ID) }

// Is makes the error match [fs.ErrNotExist].
func (e *EntryNotFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// An InvalidIDError says that a session id cannot be one: it is blank, too long, or would name
// something outside the store.
type InvalidIDError struct{ ID string }

// Error implements error.
func (e *InvalidIDError) Error() string { return fmt.Sprintf("invalid session id %q", e.ID) }

// Is makes the error match [fs.ErrInvalid].
func (e *InvalidIDError) Is(target error) bool { return target == fs.ErrInvalid }

// errClosed is what a log answers after Close.
var errClosed = closedError{}

type closedError struct{}

func (closedError) Error() string        { return "transcript: log is closed" }
func (closedError) Is(target error) bool { return target == fs.ErrClosed }
