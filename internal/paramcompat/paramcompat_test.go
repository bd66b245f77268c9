package paramcompat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/internal/paramcompat"
)

func TestRejected(t *testing.T) {
	var strict struct{}
	dec := json.NewDecoder(strings.NewReader(`{"prompt":1}`))
	dec.DisallowUnknownFields()
	for _, tt := range []struct {
		name string
		err  error
		want []string
	}{
		{"zod", errors.New(`Unrecognized key(s) in object: 'prompt', "sessionKey"`), []string{"prompt", "sessionKey"}},
		{"zod singular", errors.New("unrecognized key in object: `prompt`"), []string{"prompt"}},
		{"json schema", errors.New(`must not have additional properties: 'prompt'`), []string{"prompt"}},
		{"singular", errors.New(`additional property "prompt" found`), []string{"prompt"}},
		{"encoding/json", dec.Decode(&strict), []string{"prompt"}},
		{"unexpected", errors.New("UNEXPECTED KEY 'PROMPT'"), []string{"prompt"}},
		{"not allowed", errors.New("'prompt' is not allowed"), []string{"prompt"}},
		{"blanks before not", errors.New("'prompt' is  not allowed"), []string{"prompt"}},
		{"was not allowed", errors.New("key 'prompt' here was not allowed"), []string{"prompt"}},
		{"issues as json", errors.New("[{\"code\": \"unrecognized_keys\",\n \"keys\": [\"prompt\"]}]"), []string{"prompt"}},
		{"wrapped", fmt.Errorf("rpc: %w", errors.New("unknown field 'prompt'")), []string{"prompt"}},
		{"joined", errors.Join(errors.New("x"), errors.New("unknown field 'sessionKey'")), []string{"sessionKey"}},
		{"wrong field first", errors.New("invalid field 'tokenBudget' next to 'prompt'"), []string{"prompt"}},

		{"unquoted", errors.New("unknown field prompt"), nil},
		{"modern zod", errors.New(`Unrecognized key: "prompt"`), nil},
		{"hyphen", errors.New("unknown-key 'prompt'"), nil},
		{"currently", errors.New("'prompt' is currently not allowed"), nil},
		{"two blanks", errors.New("'prompt' is not  allowed"), nil},
		{"longer word", errors.New("'prompt' is not allowedly"), nil},
		{"other line end", errors.New("unknown field\r'prompt'"), nil},
		{"other line", errors.New("unknown field\n'prompt'"), nil},
		{"another name", errors.New("unknown field 'promptly'"), nil},
		{"unrelated", errors.New("boom"), nil},
		{"nil", nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, paramcompat.Rejected(tt.err, []string{"prompt", "sessionKey"}))
		})
	}
}

// loop is an error that wraps itself.
type loop struct{}

func (loop) Error() string   { return "loop" }
func (l loop) Unwrap() error { return l }

func TestRejectedEndsOnCycles(t *testing.T) {
	require.Nil(t, paramcompat.Rejected(loop{}, []string{"prompt"}))
}

func TestRejectedBoundsLongTexts(t *testing.T) {
	long := strings.Repeat("x", 1<<20) + "unknown field 'prompt'"
	require.Nil(t, paramcompat.Rejected(errors.New(long), []string{"prompt"}))
}
