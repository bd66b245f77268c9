package main

// leftOut says why a recorded function is not compared.
func leftOut(fn string) string {
	switch fn {
	case "compact", "safeguard", "summarizeInStages":
		return "another pipeline: source is bounded before it is sent, and a failed summary is an error that leaves the history"
	case "buildOversizedFallbackPlan":
		return "large messages are shortened in the source, never left out of it"
	case "splitPreservedRecentTurns", "formatPreservedTurnsSection":
		return "recent turns stay in the context as messages, not in the summary as text"
	case "toolFailures", "formatFileOperations", "formatFileOperations(safeguard)", "buildStructuredFallbackSummary",
		"capCompactionSummaryPreservingSuffix", "extractChunkTimeRange":
		return "text of a summary, in words of our own"
	case "buildCompactionSummarizationInstructions", "resolveCompactionInstructions":
		return "instructions in words of our own"
	case "dedupeDuplicateUserMessagesForCompaction":
		return "nothing is left out of a source for being said twice"
	case "extractSections":
		return "reading files of a workspace is the host's"
	}
	return "no function of this name"
}
