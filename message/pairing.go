package message

// A Unit is a run of messages that is kept or dropped whole: one message, or an
// assistant message with the results of its calls.
type Unit struct {
	Start, End int  // half-open range in the list
	Open       bool // a call has no result yet
}

// Repair says what RepairPairs did.
type Repair struct {
	DroppedResults, AddedResults, MovedResults, DroppedBlocks int
}

// RepairOptions are the options of RepairPairs.
type RepairOptions struct {
	KeepOpenTail bool // the last unit's calls are still running
}
