package tokens_test

import (
	"encoding/json"
	"testing"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

// Whatever a log holds is counted: no panic, never less than nothing, and the same
// through a Meter.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		`{"role":"user","content":"hi"}`,
		`{"role":"user","content":[{"type":"document","source":{"data":"QUJD"}},{"type":"image","data":"A"}]}`,
		`{"role":"assistant","content":[{"type":"toolCall","name":"a","arguments":{"x":1e21,"y":"\ud800"}}],"usage":{"input":1}}`,
		`{"role":"bashExecution","command":"ls","output":"x","exitCode":2,"truncated":true,"fullOutputPath":"/tmp/x"}`,
		`{"role":"tool","content":[1,"a",{"type":"tool_result","content":[{"type":"text"}]}]}`,
	} {
		f.Add([]byte(s))
	}
	estimators := []tokens.Estimator{tokens.ScriptAware(), tokens.Compat(), tokens.CompatPressure()}
	f.Fuzz(func(t *testing.T, source []byte) {
		for _, e := range estimators {
			if e.Schema(json.RawMessage(source)) < 0 {
				t.Fatal("a schema for less than nothing")
			}
			var m message.Message
			if json.Unmarshal(source, &m) != nil {
				continue
			}
			n := e.Message(m)
			if meter := tokens.NewMeter(e, nil); n < 0 || meter.Message(m) != n || meter.Message(m) != n {
				t.Fatalf("%d tokens for %s", n, source)
			}
		}
	})
}
