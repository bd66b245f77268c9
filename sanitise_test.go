package contextengine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	ce "github.com/go-contextengine/contextengine"
)

func TestErrorsAndLogsAreSanitisedRecordsAreRaw(t *testing.T) {
	evil := "bad\x1b[31m news\r\nlevel=INFO msg=forged \u009b1m\x1b]0;title\x07end"
	r := newRegistry()
	require.NoError(t, r.Register("x\x1b[1m", "plugin:x", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		return nil, errors.New(evil)
	}))
	h, err := r.Resolve(t.Context(), ce.Selection{Engine: "x\x1b[1m"})
	require.NoError(t, err)
	require.Equal(t, evil, h.Status().Quarantine.Reason)
	require.Equal(t, `engine "x\x1b[1m" failed: factory (error): bad news level=INFO msg=forged end`, h.Status().Quarantine.String())
	require.Len(t, r.out.lines(), 1)
	require.Contains(t, r.out.lines()[0], "bad news level=INFO msg=forged end")
	_, err = r.Resolve(t.Context(), ce.Selection{Engine: "x\x1b[1m", Policy: ce.Strict})
	require.NotContains(t, err.Error(), "\x1b")
	require.NotContains(t, err.Error(), "\n")

	long := &ce.OpError{Engine: "x", Op: "assemble", Err: errors.New(evil)}
	require.Equal(t, `contextengine: engine "x": assemble: bad news level=INFO msg=forged end`, long.Error())
}

// A lone C1 byte is a control sequence to terminals that are not set to UTF-8.
func TestTextThatIsNotUTF8IsMadeSo(t *testing.T) {
	r, f := newRegistry(), newFake(0)
	f.on = fail("compact", errors.New("bad \x9b31m \xff bytes"))
	h := resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "compact")
	require.EqualError(t, err, "contextengine: engine \"x\": compact: bad \ufffd31m \ufffd bytes")
	require.Equal(t, "bad \x9b31m \xff bytes", h.Status().Quarantine.Reason, "as it came")
	require.True(t, utf8.ValidString(r.out.lines()[0]))
}

func TestLongReasonsAreCutBetweenCodePoints(t *testing.T) {
	r := newRegistry()
	require.NoError(t, r.Register("x", "plugin:x", func(context.Context, ce.FactoryContext) (ce.ContextEngine, error) {
		return nil, errors.New(strings.Repeat("漢", 600))
	}))
	h, err := r.Resolve(t.Context(), ce.Selection{Engine: "x"})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("漢", 500), h.Status().Quarantine.Reason)
}

func TestErrorWhoseTextPanics(t *testing.T) {
	r, f := newRegistry(), newFake(0)
	f.on = fail("assemble", panickyError{})
	h := resolve(t, r, f, ce.Selection{})
	_, err := callHook(t.Context(), h, "assemble")
	require.NoError(t, err)
	require.Contains(t, h.Status().Quarantine.Reason, "that cannot be examined")
}

type panickyError struct{}

func (panickyError) Error() string { panic("no text") }
