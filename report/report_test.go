package report_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/report"
)

func TestSourceValid(t *testing.T) {
	t.Parallel()
	require.True(t, report.SourceRun.Valid())
	require.True(t, report.SourceEstimate.Valid())
	require.False(t, report.Source("").Valid())
}
