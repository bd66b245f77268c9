package compact

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	"github.com/go-contextengine/contextengine/internal/jsonx"
	"github.com/go-contextengine/contextengine/message"
)

// redact runs the host's redaction over a text.
func (s *settings) redact(text string) string {
	if s.Redact == nil || text == "" {
		return text
	}
	return s.Redact(text)
}

// redactPlan returns the plan with everything that is read from its source redacted. It
// happens before anything is cut short, because half a secret matches no rule.
func (s *settings) redactPlan(p Plan) Plan {
	if s.Redact == nil {
		return p
	}
	p.Summarise, p.TurnPrefix = s.redactMessages(p.Summarise), s.redactMessages(p.TurnPrefix)
	p.Previous = s.redact(p.Previous)
	return p
}

func (s *settings) redactMessages(ms []message.Message) []message.Message {
	out := make([]message.Message, len(ms))
	for i, m := range ms {
		m.ToolName, m.ErrorMessage, m.Summary = s.redact(m.ToolName), s.redact(m.ErrorMessage), s.redact(m.Summary)
		m.Extra = s.redactExtra(m.Extra)
		m.Content = make([]message.Block, len(ms[i].Content))
		for k, b := range ms[i].Content {
			b.Text, b.Name, b.Extra = s.redact(b.Text), s.redact(b.Name), s.redactExtra(b.Extra)
			if len(b.Arguments) > 0 {
				b.Arguments = json.RawMessage(s.redact(string(s.redactJSON(b.Arguments))))
			}
			m.Content[k] = b
		}
		out[i] = m
	}
	return out
}

func (s *settings) redactExtra(extra map[string]json.RawMessage) map[string]json.RawMessage {
	if len(extra) == 0 {
		return extra
	}
	extra = maps.Clone(extra)
	for name, raw := range extra {
		raw = s.redactJSON(raw)
		if whole := json.RawMessage(s.redact(string(raw))); json.Valid(whole) {
			raw = whole
		} else if len(raw) > 0 {
			raw = quoteJSON(string(whole))
		}
		extra[name] = raw
	}
	return extra
}

// redactJSON redacts the strings of a JSON text as what they stand for: a rule that knows
// a secret does not know its escapes. Other text comes back as it is.
func (s *settings) redactJSON(raw json.RawMessage) json.RawMessage {
	if !json.Valid(raw) {
		return raw
	}
	var b bytes.Buffer
	for i := 0; i < len(raw); {
		if raw[i] != '"' {
			b.WriteByte(raw[i])
			i++
			continue
		}
		end := i + 1
		for raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		end++
		literal := raw[i:end]
		var text string
		if json.Unmarshal(literal, &text) == nil {
			if clean := s.redact(text); clean != text {
				literal = quoteJSON(clean)
			}
		}
		b.Write(literal)
		i = end
	}
	return b.Bytes()
}

// quoteJSON writes a text as a JSON string that people can read.
func quoteJSON(text string) json.RawMessage {
	return jsonx.AppendString(nil, strings.ToValidUTF8(text, "�"))
}
