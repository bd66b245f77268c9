package prompt_test

import (
	"fmt"

	"github.com/go-contextengine/contextengine/prompt"
)

func ExamplePrompt_With() {
	p := prompt.Prompt{Stable: "You are careful.", Dynamic: "Today is quiet."}
	fmt.Println(p.With("Recall: the user likes tea."))
	fmt.Println("--")
	fmt.Println(prompt.Text("You are careful.").With("Recall: the user likes tea."))
	// Output:
	// You are careful.
	//
	// Recall: the user likes tea.
	//
	// Today is quiet.
	// --
	// Recall: the user likes tea.
	//
	// You are careful.
}
