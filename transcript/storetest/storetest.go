// Package storetest checks that a transcript store keeps the contract.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) transcript.Store { return mystore.New(t.TempDir()) }, nil)
//	}
package storetest

import (
	"slices"
	"testing"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// NewStore makes an empty store for one check. Cleaning up is its own business, with t.Cleanup.
type NewStore func(t *testing.T) transcript.Store

// Options say what a store can do beyond, or cannot.
type Options struct {
	// Reopen returns a store over what st has stored, as after a restart. Optional; if nil, what
	// survives a restart is not checked.
	Reopen func(t *testing.T, st transcript.Store) transcript.Store
	// Second returns another store over what st has stored, as another process has it at the same
	// time. Optional; if nil, nobody shares what is stored.
	Second func(t *testing.T, st transcript.Store) transcript.Store
	// Redacting makes an empty store that lets redact change what it stores. Optional; if nil,
	// the store cannot.
	Redacting func(t *testing.T, redact func(message.Message) message.Message) transcript.Store
	// Skip names rules that do not apply, with the reason. A name that is no rule fails.
	Skip map[string]string
}

// A rule is one sentence of the contract and the check of it.
type rule struct {
	name  string
	check func(t *testing.T, s suite)
}

// suite is what a check works with.
type suite struct {
	st     transcript.Store
	reopen func(t *testing.T, st transcript.Store) transcript.Store
	opts   *Options
}

// Run checks every rule of the contract in a subtest of its own, each on a new store.
func Run(t *testing.T, newStore NewStore, opts *Options) {
	t.Helper()
	if opts == nil {
		opts = &Options{}
	}
	for name := range opts.Skip {
		if !slices.Contains(Rules(), name) {
			t.Errorf("Skip names %q, which is no rule; see Rules", name)
		}
	}
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			if why, ok := opts.Skip[r.name]; ok {
				t.Skip(why)
			}
			r.check(t, suite{st: newStore(t), reopen: opts.Reopen, opts: opts})
		})
	}
}

// Rules lists the names of the rules, as Options.Skip takes them.
func Rules() []string {
	var names []string
	for _, r := range rules() {
		names = append(names, r.name)
	}
	return names
}

func rules() []rule {
	return []rule{
		{"append_fills_in_what_is_missing", checkAppend},
		{"append_is_all_or_none", checkAllOrNone},
		{"append_gives_out_a_list_of_its_own", checkOwnList},
		{"append_refuses_what_cannot_be_read_back", checkReadable},
		{"append_splits_result_blocks", checkResultBlocks},
		{"append_keeps_what_it_does_not_know", checkUnknown},
		{"members_are_their_owners_whatever_their_names", checkNames},
		{"side_entries_do_not_move_the_leaf", checkSide},
		{"labels_name_rows", checkLabels},
		{"view_follows_state_rows", checkState},
		{"view_shows_what_a_compaction_keeps", checkCompaction},
		{"compaction_is_superseded_by_generation", checkSuperseded},
		{"compaction_keeps_what_came_meanwhile", checkMeanwhile},
		{"compaction_may_keep_from_a_row_of_an_unknown_type", checkOpaqueKept},
		{"leaf_moves", checkLeaf},
		{"rewrite_swaps_messages_and_keeps_keys", checkRewrite},
		{"rewrite_declines_with_a_reason", checkRewriteReasons},
		{"rewrite_replayed_changes_nothing", checkRewriteReplay},
		{"keys_are_distinct_and_survive_a_restart", checkKeys},
		{"a_restart_changes_nothing", checkRestart},
		{"redaction_sees_everything_once", checkRedaction},
		{"one_of_two_processes_makes_a_session", checkTwoCreate},
		{"open_and_create_know_what_is_there", checkStore},
		{"open_twice_is_one_state", checkOpenTwice},
		{"list_has_every_session", checkList},
		{"delete_removes_a_session", checkDelete},
		{"fork_copies_a_branch", checkFork},
		{"rotate_starts_from_the_view", checkRotate},
		{"copy_brings_a_session_over", checkCopy},
		{"readers_see_one_state", checkSnapshot},
		{"appenders_lose_nothing", checkConcurrent},
		{"cancelled_calls_do_nothing", checkCancelled},
		{"closed_logs_fail", checkClosed},
		{"ids_that_lead_elsewhere_are_refused", checkIDs},
	}
}
