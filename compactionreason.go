package contextengine

// Sentence tells people how a compaction ended. For a reason outside the closed set it
// is the code itself, for "" that the reason is unknown. No trailing newline.
func (r CompactionReason) Sentence() string {
	if s, _ := r.words(); s != "" {
		return s
	}
	if r == "" {
		return "The compaction gave no reason."
	}
	return "The compaction ended with " + string(r) + "."
}

// NextStep tells people what they can do about it; "" where nothing needs doing, and for
// a reason outside the closed set.
func (r CompactionReason) NextStep() string {
	_, next := r.words()
	return next
}

// Harmless reports whether nothing went wrong: the history was compacted, or there was
// no need to, or somebody decided against it.
func (r CompactionReason) Harmless() bool {
	switch r {
	case ReasonCompacted, ReasonNothingToCompact, ReasonBelowThreshold, ReasonNoRealConversation,
		ReasonPendingToolCalls, ReasonSuperseded, ReasonDeferred, ReasonVetoed, ReasonDisabled:
		return true
	}
	return false
}

func (r CompactionReason) words() (sentence, next string) {
	switch r {
	case ReasonCompacted:
		return "The older part of the conversation was replaced by a summary.", ""
	case ReasonNothingToCompact:
		return "There is nothing older than the recent part that is kept.",
			"If the context is still too full, start a new session or choose a model with a larger window."
	case ReasonBelowThreshold:
		return "The context fits; there is no need to compact.", "Ask for a compaction by hand to get one anyway."
	case ReasonNoRealConversation:
		return "The session holds no conversation that could be summarised.", "Go on talking; heartbeats alone need no summary."
	case ReasonPendingToolCalls:
		return "Tool calls are still running and must stay in the context.", "Compact again when their results are there."
	case ReasonNoProgress:
		return "The summary would not be smaller than what it replaces, so the history was left as it was.",
			"Shorten large tool results, or keep a smaller recent part."
	case ReasonSummaryEmpty:
		return "The model gave no summary, so the history was left as it was.",
			"Try again, or choose another model for summaries."
	case ReasonSummaryRejected:
		return "The model's answer was no usable summary, so the history was left as it was.",
			"Try again with a focus, or choose another model for summaries."
	case ReasonTooLarge:
		return "The history is larger than the summarising model can take.",
			"Choose a model with a larger window for summaries, or allow the extractive summary."
	}
	return r.moreWords()
}

func (r CompactionReason) moreWords() (sentence, next string) {
	switch r {
	case ReasonProviderUnavailable:
		return "The summarising model could not be reached or refused its credentials.",
			"Check the provider and its key, then compact by hand."
	case ReasonSpendLimited:
		return "A limit on requests or money ended the compaction.", "Raise the limit, or compact later."
	case ReasonDeadline:
		return "The compaction took too long and was given up.", "Allow more time, or choose a faster model for summaries."
	case ReasonSuperseded:
		return "Another compaction or edit of the session came first.", "Nothing is lost; go on with the session as it is now."
	case ReasonCancelled:
		return "The compaction was cancelled.", "Compact again when you like."
	case ReasonDeferred:
		return "The compaction was put off to the background.", "Go on; it will run after the turn."
	case ReasonVetoed:
		return "A hook stopped the compaction.", "See what the hook says, then compact by hand."
	case ReasonDisabled:
		return "Compaction is switched off.", "Compact by hand, or switch it on in the configuration."
	case ReasonNoCompactor:
		return "There is no compaction here: the engine has none and the host lends none.",
			"Select an engine that compacts, or give the host a compactor."
	case ReasonTargetNotReached:
		return "The context was compacted but is still larger than wanted.",
			"Shorten large tool results or keep a smaller recent part, then compact again."
	}
	return "", ""
}
