package message

import (
	"encoding/json"
	"maps"
	"strconv"

	"github.com/go-contextengine/contextengine/internal/jsonx"
)

// RuntimeContextType is the custom type of messages with which a host tells the model about
// its own state (OpenClaw's name, so that their logs are understood). Hosts keep them from
// engines.
const RuntimeContextType = "openclaw.runtime-context"

// JSON keys of fields that live in Extra.
const (
	keyCustomType     = "customType"
	keyDisplay        = "display"
	keyDetails        = "details"
	keyFromID         = "fromId"
	keyCommand        = "command"
	keyOutput         = "output"
	keyExitCode       = "exitCode"
	keyCancelled      = "cancelled"
	keyTruncated      = "truncated"
	keyFullOutputPath = "fullOutputPath"
	keyExclude        = "excludeFromContext"
)

// Custom returns a message that a host or plugin adds to the session under its own type.
// The model sees it as a user message. It is displayed; see [Message.WithExtra] to set
// "display" to false or to add "details".
func Custom(customType string, blocks ...Block) Message {
	return Message{Role: RoleCustom, Content: blocks, Extra: map[string]json.RawMessage{
		keyCustomType: quote(customType),
		keyDisplay:    json.RawMessage("true"),
	}}
}

// RuntimeContext returns a host-internal message: see [IsRuntimeContext]. It is not displayed.
func RuntimeContext(blocks ...Block) Message {
	return Custom(RuntimeContextType, blocks...).WithExtra(keyDisplay, json.RawMessage("false"))
}

// IsRuntimeContext reports whether m is a host-internal runtime-context message, which the
// model sees and engines do not.
func IsRuntimeContext(m Message) bool {
	return m.Role == RoleCustom && m.CustomType() == RuntimeContextType
}

// CustomType returns the type of a custom message, "" when there is none.
func (m Message) CustomType() string {
	return m.ExtraString(keyCustomType)
}

// Display reports whether a user interface shows a custom message: always, unless its
// "display" field is false.
func (m Message) Display() bool {
	shown, fit := jsonx.Bool(m.Extra[keyDisplay])
	return shown || fit == jsonx.Unfit
}

// Details returns the "details" field of a tool result or custom message, which is meant
// for programs and never sent to a model. nil: none. The caller does not change it.
func (m Message) Details() json.RawMessage {
	return m.Extra[keyDetails]
}

// ExtraString returns the string in Extra under key, "" when there is none.
func (m Message) ExtraString(key string) string {
	s, _ := jsonx.String(m.Extra[key])
	return s
}

// WithExtra returns a copy of m with one more field in Extra; an empty value removes the
// field. m itself stays as it is. The value is kept and must be JSON.
func (m Message) WithExtra(key string, value json.RawMessage) Message {
	extra := maps.Clone(m.Extra)
	if extra == nil {
		extra = make(map[string]json.RawMessage, 1)
	}
	if len(value) == 0 {
		delete(extra, key)
	} else {
		extra[key] = value
	}
	if len(extra) == 0 {
		extra = nil
	}
	m.Extra = extra
	return m
}

// Bash is the content of a RoleBashExecution message, whose JSON has no content blocks.
type Bash struct {
	Command, Output string
	ExitCode        *int // nil: not known, or the command did not end by itself
	Cancelled       bool
	Truncated       bool   // Output is cut
	FullOutputPath  string // where all of a truncated output is, "" when nowhere
	// Exclude keeps the message from the model; the user sees it.
	Exclude bool
}

// BashExecution returns the message of a shell command.
func BashExecution(b Bash) Message {
	extra := map[string]json.RawMessage{
		keyCommand:   quote(b.Command),
		keyOutput:    quote(b.Output),
		keyCancelled: boolean(b.Cancelled),
		keyTruncated: boolean(b.Truncated),
	}
	if b.ExitCode != nil {
		extra[keyExitCode] = integer(*b.ExitCode)
	}
	if b.FullOutputPath != "" {
		extra[keyFullOutputPath] = quote(b.FullOutputPath)
	}
	if b.Exclude {
		extra[keyExclude] = boolean(true)
	}
	return Message{Role: RoleBashExecution, Extra: extra}
}

// Bash returns the shell command of a RoleBashExecution message, the zero Bash for any
// other. Fields of a wrong JSON kind are zero.
func (m Message) Bash() Bash {
	if m.Role != RoleBashExecution {
		return Bash{}
	}
	b := Bash{
		Command:        m.ExtraString(keyCommand),
		Output:         m.ExtraString(keyOutput),
		FullOutputPath: m.ExtraString(keyFullOutputPath),
	}
	b.Cancelled, _ = jsonx.Bool(m.Extra[keyCancelled])
	b.Truncated, _ = jsonx.Bool(m.Extra[keyTruncated])
	b.Exclude, _ = jsonx.Bool(m.Extra[keyExclude])
	if n, ok := toInt(m.Extra[keyExitCode]); ok {
		b.ExitCode = &n
	}
	return b
}

func boolean(v bool) json.RawMessage {
	return strconv.AppendBool(nil, v)
}

func integer(n int) json.RawMessage {
	return strconv.AppendInt(nil, int64(n), 10)
}
