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
		last, err := lastActivity(ctx, st, h)
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

// lastActivity returns when the last row of a session was added.
func lastActivity(ctx context.Context, st Store, h Header) (last time.Time, err error) {
	log, err := st.Open(ctx, h.ID)
	if err != nil {
		return time.Time{}, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if own, ok := log.(*handle); ok {
		return own.lastRow(h.Timestamp)
	}
	last = h.Timestamp
	for e, err := range log.Entries(ctx) {
		if err != nil {
			return time.Time{}, err
		}
		if e.Timestamp.After(last) {
			last = e.Timestamp
		}
	}
	return last, nil
}

// lastRow reads the time of the last row only: rows are added in the order of time.
func (h *handle) lastRow(began time.Time) (time.Time, error) {
	snap, err := h.state()
	if err != nil {
		return time.Time{}, err
	}
	rd := newRowReader(snap)
	for i := len(snap.rows) - 1; i >= 0; i-- {
		if snap.rows[i].bad {
			continue
		}
		e, err := rd.entry(int32(i))
		if err != nil || e.Timestamp.After(began) {
			return e.Timestamp, err
		}
	}
	return began, nil
}
