package bpe_test

import (
	"fmt"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/tokens/bpe"
)

func Example() {
	e, approximate := bpe.ForModel("gpt-4o")
	fmt.Println(e.Name(), approximate)
	fmt.Println(e.Count("Counting is the dull part of this work."))
	fmt.Println(e.Append(nil, "hello world"))

	meter := tokens.NewMeter(e, nil)
	fmt.Println(meter.Message(message.Message{
		Role:    message.RoleUser,
		Content: []message.Block{{Type: message.BlockText, Text: "hello world"}},
	}))
	// Output:
	// o200k_base false
	// 9
	// [24912 2375]
	// 6
}
