package contextengine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

func TestErrorTexts(t *testing.T) {
	require.EqualError(t, &ce.HostError{Op: "complete", Err: errBoom}, "host failed to complete: boom")
	require.EqualError(t, &ce.DeadlineError{Engine: "x", Op: "assemble", After: 1e9}, `engine "x": assemble did not return within 1s`)
	require.EqualError(t, &ce.UnknownParamError{Params: []ce.HostParam{ce.ParamPrompt}, Err: errBoom}, `rejected host fields: "prompt": boom`)
	require.ErrorIs(t, &ce.PanicError{Value: errBoom}, errBoom)
	require.NoError(t, (&ce.PanicError{Value: "x"}).Unwrap())
	require.ErrorIs(t, &ce.DeadlineError{}, context.DeadlineExceeded)
}
