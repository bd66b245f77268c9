// Package compact is the built-in summarising compaction.
package compact
