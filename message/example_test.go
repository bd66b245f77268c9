package message_test

import (
	"encoding/json"
	"fmt"

	"github.com/go-contextengine/contextengine/message"
)

// A session's rows are read, mended and turned into what a provider takes.
func Example() {
	rows := []string{
		`{"role":"user","content":"what is in the file?","timestamp":1}`,
		`{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.txt"}}],"timestamp":2}`,
		`{"role":"bashExecution","command":"ls","output":"a.txt","exitCode":0,"timestamp":3}`,
		`{"role":"user","content":"well?","timestamp":4}`,
	}
	var ms []message.Message
	for _, row := range rows {
		var m message.Message
		if err := json.Unmarshal([]byte(row), &m); err != nil {
			fmt.Println(err)
			return
		}
		ms = append(ms, m)
	}
	ms, done := message.RepairPairs(message.ForModel(ms), nil)
	fmt.Println("added", done.AddedResults)
	for _, m := range ms {
		fmt.Printf("%s %q\n", m.Role, m.Text())
	}
	// Output:
	// added 1
	// user "what is in the file?"
	// assistant ""
	// toolResult "No result was recorded for this tool call; whether it ran is not known."
	// user "The user ran a shell command:\n```\nls\n```\nIt printed:\n```\na.txt\n```\n"
	// user "well?"
}

func ExampleMessage_AppendJSON() {
	m := message.ToolResult("c1", "read", message.Text("a < b"))
	line, err := m.AppendJSON(nil)
	fmt.Println(string(line), err)
	// Output: {"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"a < b"}],"isError":false} <nil>
}

func ExampleMessage_ToolCalls() {
	m := message.Assistant(
		message.Text("I look at both."),
		message.ToolCall("c1", "read", json.RawMessage(`{"path":"a"}`)),
		message.ToolCall("c2", "read", json.RawMessage(`{"path":"b"}`)))
	for call := range m.ToolCalls() {
		fmt.Println(call.ID, call.Name, string(call.Arguments))
	}
	// Output:
	// c1 read {"path":"a"}
	// c2 read {"path":"b"}
}

func ExampleTail() {
	ms := []message.Message{
		message.User("look"),
		message.Assistant(message.ToolCall("c1", "read", nil), message.ToolCall("c2", "read", nil)),
		message.ToolResult("c1", "read", message.Text("one")),
		message.ToolResult("c2", "read", message.Text("two")),
		message.Assistant(message.Text("done")),
	}
	// Two messages would begin with the result c2, so its call and the other result come too.
	for _, m := range message.Tail(ms, 2) {
		fmt.Println(m.Role)
	}
	// Output:
	// assistant
	// toolResult
	// toolResult
	// assistant
}

func ExampleUnits() {
	ms := []message.Message{
		message.User("look"),
		message.Assistant(message.ToolCall("c1", "read", nil)),
		message.ToolResult("c1", "read", message.Text("one")),
		message.Assistant(message.ToolCall("c2", "read", nil)),
	}
	for u := range message.Units(ms) {
		fmt.Println(u.Start, u.End, u.Open)
	}
	// Output:
	// 0 1 false
	// 1 3 false
	// 3 4 true
}

func ExampleIsConversation() {
	ms := []message.Message{
		message.User("how is the disk?"),
		message.Assistant(message.Text("HEARTBEAT_OK")),
		message.RuntimeContext(message.Text("the host restarted")),
	}
	for i := range ms {
		fmt.Println(message.IsConversation(ms, i))
	}
	// Output:
	// true
	// false
	// false
}
