package transcript

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// RemoveOlder deletes the sessions of st that nothing was added to since before, and returns their
// headers. A session that cannot be read is left alone; its error is returned when the others are
// done. The clock is the caller's: pass time.Now().Add(-maxAge).
// What a host keeps of a session elsewhere, such as in its own state, is not removed: host.Host
// does that in EndSession, which takes the ids of the returned headers.
func RemoveOlder(ctx context.Context, st Store, before time.Time) ([]Header, error) {
	var old []Header
	var errs []error
	for h, err := range st.List(ctx) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !h.Timestamp.Before(before) {
			continue
		}
		last, err := lastActivity(ctx, st, h, before)
		if err != nil {
			errs = append(errs, err)
		} else if last.Before(before) {
			old = append(old, h)
		}
	}
	var removed []Header
	for _, h := range old {
		if err := st.Delete(ctx, h.ID); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, h)
	}
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("removing old sessions: %w", err)
	}
	return removed, nil
}

// lastActivity returns when something was last added to a session, or some time that is not
// before the one asked about.
func lastActivity(ctx context.Context, st Store, h Header, before time.Time) (last time.Time, err error) {
	log, err := st.Open(ctx, h.ID)
	if err != nil {
		return time.Time{}, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	entries := log.Entries(ctx)
	if own, ok := log.(*handle); ok { // the last rows are the likeliest
		entries = own.each(ctx, (*snapshot).backward)
	}
	last = h.Timestamp
	for e, err := range entries {
		if err != nil {
			return time.Time{}, err
		}
		if e.Timestamp.After(last) {
			last = e.Timestamp
		}
		if !last.Before(before) {
			break
		}
	}
	return last, nil
}
