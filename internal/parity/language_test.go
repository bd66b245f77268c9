package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The params of the calls below.
const (
	someIngest   = `"params":{"sessionId":"s1","message":{"role":"user","content":"hello","timestamp":1}}`
	someAssemble = `"params":{"sessionId":"s1","messages":[{"role":"user","content":"hello","timestamp":1}],"prompt":"hello"}`
	someCompact  = `"params":{"sessionId":"s1","sessionKey":"k","runtimeSettings":{"schemaVersion":1}}`
	alphaThere   = `{"op":"init"},{"op":"register","id":"alpha","owner":"plugin:alpha"},{"op":"resolve","as":"e","slot":"alpha"}`
)

// TestLanguage covers what the recorded scenarios leave out of their language.
func TestLanguage(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, scenario string
		skipped        string
		want           []string // of the steps after the first three, error or ok, in short
	}{
		{
			name: "reading the info fails", scenario: `"engines":{"alpha":{"infoThrows":"no info"}},
				"steps":[` + alphaThere + `,{"op":"quarantines"}]`,
			want: []string{`[alpha contract-validation]`},
		},
		{
			name: "a hung call is aborted", scenario: `"engines":{"alpha":{"methods":{"compact":{"hang":true}}}},
				"steps":[` + alphaThere + `,{"op":"call","on":"e","method":"compact",` + someCompact + `,
				"signal":{"afterMs":10,"reason":{"error":"stop"}}},{"op":"quarantines"}]`,
			want: []string{`error library <alpha.compact>`, `[]`},
		},
		{
			name: "calls overlap and keep their order", scenario: `"engines":{"alpha":{"methods":{"ingest":{"throw":"a"}}}},
				"steps":[` + alphaThere + `,{"op":"callParallel","calls":[
				{"on":"e","method":"ingest",` + someIngest + `},{"on":"e","method":"assemble",` + someAssemble + `}]}]`,
			want: []string{`[{"ok":{"ingested":false}},{"ok":{"estimatedTokens":11,"messages":[{"content":"hello","role":"user","timestamp":1}]}}] <alpha.ingest alpha.assemble>`},
		},
		{
			name: "a shared engine, its members and its info", scenario: `"engines":{"alpha":{"shared":true,"methods":{"maintain":{"return":{}}}}},
				"steps":[` + alphaThere + `,{"op":"resolve","as":"f","slot":"alpha"},{"op":"same","a":"e","b":"f"},
				{"op":"get","on":"e","path":"info.name"},{"op":"get","on":"e","path":"maintain"},{"op":"get","on":"e","path":"bootstrap"}]`,
			want: []string{`{"info":{"id":"alpha","name":"Engine alpha"}} <factory alpha>`, `false`, `"Engine alpha"`, `"$function"`, `"$undefined"`},
		},
		{
			name: "init replaces a default engine of core", scenario: `"engines":{"mine":{"info":{"id":"legacy","name":"Mine"}}},
				"steps":[{"op":"register","id":"legacy","owner":"core","factory":"mine"},{"op":"init"},{"op":"init"},{"op":"resolve","as":"e"}]`,
			want: []string{`{"info":{"id":"legacy","name":"Legacy Context Engine","version":"1.0.0"}}`},
		},
		{
			name: "rejected keys fill the error", scenario: `"engines":{"alpha":{"methods":{"assemble":{"throwIfKeys":["prompt","messages"],
				"error":{"message":"no {key}","issues":[{"code":"unrecognized_keys","keys":["{keys}"]}]},"return":{"messages":[]}}}}},
				"steps":[` + alphaThere + `,{"op":"call","on":"e","method":"assemble",` + someAssemble + `},{"op":"quarantines"}]`,
			want: []string{
				`{"estimatedTokens":0,"messages":[{"content":"hello","role":"user","timestamp":1}]} <alpha.assemble alpha.assemble>`,
				`[alpha assemble no messages]`,
			},
		},
		{
			name: "an echo with more messages", scenario: `"engines":{"alpha":{"methods":{"assemble":{"echo":true,"estimatedTokens":3,
				"plus":[{"role":"user","content":"more","timestamp":2}]}}}},
				"steps":[` + alphaThere + `,{"op":"call","on":"e","method":"assemble",` + someAssemble + `}]`,
			want: []string{`{"estimatedTokens":3,"messages":[{"content":"hello","role":"user","timestamp":1},{"content":"more","role":"user","timestamp":2}]} <alpha.assemble>`},
		},
		{
			name: "a record of another live process", scenario: `"engines":{"beta":{"methods":{"ingest":{"throw":"bang"}}}},
				"steps":[{"op":"init"},{"op":"resolve","as":"e","slot":"ghost"},{"op":"sleep","ms":1},
				{"op":"child","keepAlive":true,"steps":[{"op":"init"},{"op":"register","id":"beta","owner":"plugin:beta"},
				{"op":"resolve","as":"e","slot":"beta"},{"op":"call","on":"e","method":"ingest",` + someIngest + `}]},
				{"op":"quarantines"},{"op":"childStop"},{"op":"quarantines"}]`,
			want: []string{
				`[beta ingest bang] [ghost resolve not registered]`, `[ghost resolve] [beta ingest bang]`, `"$undefined"`, `[ghost resolve]`,
			},
		},
		{
			name: "a member that the engine lacks", scenario: `"engines":{},
				"steps":[` + alphaThere + `,{"op":"call","on":"e","method":"bootstrap",` + someCompact + `}]`,
			want: []string{`error library`},
		},
		{
			name: "no default engine", scenario: `"steps":[{"op":"resolve","as":"e","slot":"ghost"}]`,
			skipped: "a registry without its default engine does not exist",
		},
		{
			name: "a result of another shape", scenario: `"engines":{"alpha":{"methods":{"assemble":{"return":"text"}}}},
				"steps":[` + alphaThere + `,{"op":"call","on":"e","method":"assemble",` + someAssemble + `}]`,
			skipped: `the value "text" of an assemble result cannot be written in Go`,
		},
		{
			name: "an error that is its own cause", scenario: `"engines":{"alpha":{"methods":{"assemble":{"throw":{"message":"x","selfCause":true}}}}},
				"steps":[` + alphaThere + `,{"op":"call","on":"e","method":"assemble",` + someAssemble + `}]`,
			skipped: "an error cannot be its own cause: errors.Is would not end",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sc, err := parseScenario([]byte(`{"id":"x",` + tt.scenario + `}`))
			require.NoError(t, err)
			got, err := runScenario(t.Context(), sc)
			require.NoError(t, err)
			require.Equal(t, tt.skipped, got.Skipped)
			steps, _ := written(t, got)["steps"].([]any)
			for i, want := range tt.want {
				step, _ := steps[i+3].(map[string]any)
				require.Equal(t, want, brief(step), "step %d", i+3)
			}
		})
	}
}

// brief gives a step in one line: its error or result, then what was asked for.
func brief(step object) string {
	v := viewStep(step)
	var out string
	switch list, isList := v["ok"].([]any); {
	case v["error"] != nil:
		out = strings.Trim(fmt.Sprint("error ", v["error"]), "[]")
		out = strings.ReplaceAll(out, "[", "")
	case step["op"] == "quarantines" || step["op"] == "child":
		var rows []string
		for _, item := range list {
			q, _ := item.(map[string]any)
			row := fmt.Sprint(q["engineId"], " ", q["operation"])
			if q["reason"] != nil {
				row += fmt.Sprint(" ", q["reason"])
			}
			rows = append(rows, "["+strings.TrimSpace(row)+"]")
		}
		out = strings.Join(rows, " ")
		if out == "" && isList {
			out = "[]"
		}
	default:
		raw, _ := json.Marshal(step["ok"])
		out = string(raw)
	}
	received, _ := step["received"].([]any)
	var asked []string
	for _, item := range received {
		r, _ := item.(map[string]any)
		if f, ok := r["factory"]; ok {
			asked = append(asked, fmt.Sprint("factory ", f))
			continue
		}
		asked = append(asked, fmt.Sprint(r["engine"], ".", r["method"]))
	}
	if len(asked) > 0 {
		out += " <" + strings.Join(asked, " ") + ">"
	}
	return out
}
