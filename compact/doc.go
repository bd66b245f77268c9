// Package compact is the built-in summarising compaction: it replaces the older part of a
// session by a summary and keeps the recent part as it is.
//
// # Use
//
//	c, err := compact.New(store, &compact.Options{
//		Summarizer: compact.WithCompleter(model),
//		Extractive: compact.PolicyPressure,
//	})
//	res, err := c.CompactSession(ctx, contextengine.CompactParams{SessionRef: ref, Trigger: contextengine.TriggerManual})
//
// A host lends the [Compactor] to engines, which call it through
// contextengine.DelegateCompaction.
//
// # What it promises
//
//   - History is never destroyed: the log grows by one row or stays as it is, byte for
//     byte, whatever fails.
//   - It makes progress or says why not: the context is smaller afterwards, or the result
//     has one of a closed set of reasons, each with a sentence and a next step.
//   - A summariser is never sent more than it can take, and the number of requests is
//     bounded.
//   - Calls and their results stay together; calls of a running turn stay.
//
// # Steps
//
// [MakePlan] cuts the view, without a model. Source is rendered under the names of its
// speakers, fenced as data, in pieces that are never parted. The [Summarizer] gets it in
// as many requests as its window needs, and the answers are merged. What comes back is
// judged by its form, completed with identifiers, open asks and files that it lacks, and
// audited. Then one row is appended, unless somebody else compacted meanwhile.
//
// # Shared sessions
//
// [FindCutPoint], [Prepare], [SplitByTokenShare], [ChunkByMaxTokens], [PruneHistoryShare]
// and [OverflowSignsOf] behave as OpenClaw 2026.7.1 does, number for number with its
// estimator, for programs that share sessions with it.
package compact
