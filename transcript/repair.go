package transcript

import (
	"context"
	"errors"
)

// A RepairReport says what Repair did.
type RepairReport struct {
	Backup  string    // the file as it was; empty when nothing was changed
	Changes []Problem // with the line numbers of the old file
}

// Repair mends a broken file explicitly: backup, atomic replace, report.
func Repair(ctx context.Context, path string) (RepairReport, error) {
	return RepairReport{}, errors.ErrUnsupported
}
