// Package message models the messages of an agent session: what a user, a model and its
// tools said, as the host stores it and as engines receive it.
//
//	history := []message.Message{
//		message.User("What does main.go do?"),
//		message.Assistant(message.ToolCall("c1", "read", json.RawMessage(`{"path":"main.go"}`))),
//		message.ToolResult("c1", "read", message.Text("package main")),
//		message.Assistant(message.Text("Nothing yet.")),
//	}
//	recent := message.Tail(history, 2) // three: a call and its result stay together
//
// # Values
//
// A [Message] is a plain struct with a role and a list of content [Block]s, and so is a
// Block. Which fields are set depends on the role or type; there are no subtypes to assert.
// Messages are values: once handed to somebody else, neither they nor their blocks are
// changed. To change one, copy it ([Clone]) and change the copy. Everything here is safe
// for concurrent use on that condition.
//
// # JSON
//
// The wire form is the one that session logs of OpenClaw and pi use. Decoding loses
// nothing: unknown roles, block types and fields survive, numbers in tool arguments keep
// their digits, and what a typed field cannot hold stays in Extra (see [Message.Extra]) and
// is written back. [Message.AppendJSON] and [Message.MarshalJSON] write without HTML
// escaping; json.Marshal escapes and compacts what they return, which changes bytes but not
// meaning.
//
// # Calls and results
//
// Providers refuse a request in which a tool call lacks its result or a result its call.
// [Units] says which messages belong together, [Tail] and [SafeCut] cut only between them,
// and [RepairPairs] mends a list that is already broken. Ids are matched within their own
// group of messages because models reuse them from turn to turn.
//
// # For the model
//
// [ForModel] turns what only the host knows (shell commands, summaries, custom messages)
// into the three roles that providers know. [IsConversation] tells real conversation from
// bookkeeping.
package message
