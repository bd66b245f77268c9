package tokens_test

import (
	"fmt"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
)

func Example() {
	meter := tokens.NewMeter(tokens.ScriptAware(), nil)
	history := []message.Message{
		{Role: message.RoleUser, Content: []message.Block{{Type: message.BlockText, Text: "What does this module do?"}}},
		{Role: message.RoleAssistant, Content: []message.Block{{Type: message.BlockText, Text: "It counts."}}},
	}
	budget := tokens.NewBudget(200_000, nil)

	fmt.Println("may send", budget.Prompt())
	fmt.Println("fits", budget.Overflow(meter.Messages(history)) == 0)
	// Output:
	// may send 180000
	// fits true
}
