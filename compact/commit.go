package compact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/transcript"
)

// Details are what a compaction of this package stores beside its summary, as JSON. The
// file lists have OpenClaw's names.
type Details struct {
	FileLists
	// ToolFailures are the last calls that failed in what was summarised.
	ToolFailures []ToolFailure `json:"toolFailures,omitempty"`
	// Summarizer says who wrote the summary: provider and model, "builtin/extractive", or
	// "provider" for a plugin.
	Summarizer string `json:"summarizer,omitempty"`
	// Trigger is what asked for the compaction.
	Trigger ce.CompactionTrigger `json:"trigger,omitempty"`
	// Calls counts the requests to summarisers, failed ones included.
	Calls int `json:"calls"`
	// InputTokens and OutputTokens sum what the providers reported for them, cached input
	// included; 0: not reported.
	InputTokens  int `json:"inputTokens,omitempty"`
	OutputTokens int `json:"outputTokens,omitempty"`
	// LeftOut counts units of the source that no summariser saw, because the requests
	// were too large.
	LeftOut int `json:"leftOut,omitempty"`
	// Fallback is why the extractive summary stands in for a model's; "": it does not.
	Fallback ce.CompactionReason `json:"fallback,omitempty"`
}

// A ToolFailure is a call that failed.
type ToolFailure struct {
	Tool string `json:"tool"`
	Text string `json:"text"`
}

// Limits of the failures that are stored (OpenClaw 2026.7.1), the second in bytes.
const (
	maxFailures    = 8
	maxFailureText = 240
)

// summarise makes the summary and stores it.
func (r *run) summarise(ctx context.Context) (ce.CompactResult, error) {
	files, err := r.earlierFiles(ctx)
	if err != nil {
		return ce.CompactResult{}, err
	}
	r.source = r.c.s.redactPlan(r.plan)
	need := r.c.s.needs(&r.source, files)
	d := Details{FileLists: need.files, Trigger: r.p.Trigger, ToolFailures: r.c.s.toolFailures(&r.source)}
	text, res, err := r.text(ctx, need, &d)
	if err != nil || text == "" {
		return res, err
	}
	return r.commit(ctx, text, d)
}

// text gets the summary, from a model or, where that fails and the policy allows it, from
// the source itself. Without a text there is a result that says why.
func (r *run) text(ctx context.Context, need required, d *Details) (string, ce.CompactResult, error) {
	timed, cancel := context.WithTimeoutCause(ctx, r.c.s.Timeout, errDeadline)
	defer cancel()
	j := r.job(r.c.s)
	text, err := j.write(timed, &r.source, need)
	if err == nil && !r.smaller(text) {
		err = &flawError{flawLength}
	}
	if ctx.Err() != nil {
		return "", ce.CompactResult{}, context.Cause(ctx)
	}
	d.Calls, d.LeftOut, d.Summarizer = j.calls, j.left, j.answered
	d.OutputTokens, d.InputTokens = j.spent.Output, j.spent.Total()-j.spent.Output
	if err == nil {
		return text, ce.CompactResult{}, nil
	}
	reason := failureOf(err)
	if !r.mayExtract() || j.extract {
		return "", r.failed(reason, err), nil
	}
	standIn, ok := r.extract(ctx, need)
	if !ok {
		return "", r.failed(reason, err), nil
	}
	r.c.s.Logger.WarnContext(ctx, "extractive summary stands in", "session", r.session(), "reason", string(reason))
	d.Summarizer, d.Fallback, d.LeftOut = "builtin/extractive", reason, 0
	return standIn, ce.CompactResult{}, nil
}

// failed is the answer when there is no summary. What providers say may quote the request.
func (r *run) failed(reason ce.CompactionReason, err error) ce.CompactResult {
	res := failed(reason, err)
	res.Detail = r.c.s.redact(res.Detail)
	return res
}

// job prepares the work on the plan with given settings.
func (r *run) job(s *settings) *job {
	return &job{
		s: s, memory: r.c.memory, session: Model{Provider: r.view.Provider, Name: r.view.Model},
		force: r.p.Force, focus: s.redact(focusText(r.p.CustomInstructions, s.Focus)),
		room: s.summaryTokens(r.want.target), source: r.plan.Source,
	}
}

func (r *run) mayExtract() bool {
	switch r.c.s.Extractive {
	case PolicyAlways:
		return true
	case PolicyPressure:
		return r.plan.Pressure
	}
	return false
}

// extract makes the summary without a model.
func (r *run) extract(ctx context.Context, need required) (string, bool) {
	s := *r.c.s
	s.Summarizer, s.Failover, s.Provider, s.Audit = Extractive(), nil, nil, Audit{}
	text, err := r.job(&s).write(ctx, &r.source, need)
	return text, err == nil && r.smaller(text)
}

// smaller reports whether the context gets smaller by a summary.
func (r *run) smaller(text string) bool { return r.after(text) < r.plan.Before }

// after is the size of the view with a summary, by the estimator.
func (r *run) after(text string) int {
	return r.plan.Kept + r.c.s.counter.Message(message.Message{Role: message.RoleCompactionSummary, Summary: text})
}

// commit stores a summary in one append.
func (r *run) commit(ctx context.Context, text string, d Details) (ce.CompactResult, error) {
	details, err := json.Marshal(d)
	if err != nil {
		return ce.CompactResult{}, fmt.Errorf("encoding compaction details: %w", err)
	}
	if ctx.Err() != nil {
		return ce.CompactResult{}, context.Cause(ctx)
	}
	before, after := r.sizes(text)
	_, err = r.log.CommitCompaction(ctx, r.view.Generation, transcript.Compaction{
		Summary: text, FirstKeptEntryID: r.plan.FirstKept, TokensBefore: before, Details: details,
	})
	switch {
	case errors.Is(err, transcript.ErrSuperseded):
		return harmless(ce.ReasonSuperseded), nil
	case err != nil:
		return ce.CompactResult{}, fmt.Errorf("storing summary: %w", err)
	}
	reason := ce.ReasonCompacted
	if r.want.target > 0 && after > r.want.target {
		reason = ce.ReasonTargetNotReached
	}
	return ce.CompactResult{
		OK: true, Compacted: true, Reason: reason, Detail: reason.Sentence(),
		Result: &ce.CompactDetails{
			Summary: text, FirstKeptEntryID: r.plan.FirstKept,
			TokensBefore: before, TokensAfter: &after, Details: details,
		},
	}, nil
}

// sizes are those of the context before and after. An observed size wins over the
// estimate: what it has more, such as the system prompt, is in both; when it is less, the
// estimate was high by that ratio.
func (r *run) sizes(text string) (before, after int) {
	before, after = r.plan.Before, r.after(text)
	switch current := r.want.current; {
	case current > before:
		return current, after + current - before
	case current > 0:
		return current, after * current / before
	}
	return before, after
}

// earlierFiles reads the file lists of the compaction that this one updates.
func (r *run) earlierFiles(ctx context.Context) (FileOperations, error) {
	var f FileOperations
	if r.plan.Previous == "" {
		return f, nil
	}
	var last json.RawMessage
	for e, err := range r.log.Branch(ctx) {
		if err != nil {
			return f, fmt.Errorf("reading earlier compactions: %w", err)
		}
		if e.Type == transcript.EntryCompaction && e.Compaction != nil {
			last = e.Compaction.Details
		}
	}
	f.carry(last)
	return f, nil
}

// toolFailures lists the last failed calls of a plan's source.
func (s *settings) toolFailures(p *Plan) []ToolFailure {
	var out []ToolFailure
	for _, ms := range [...][]message.Message{p.Summarise, p.TurnPrefix} {
		for i := range ms {
			if ms[i].Role != message.RoleToolResult || !ms[i].IsError {
				continue
			}
			text := s.redact(collapse(strings.ToValidUTF8(ms[i].Text(), "�")))
			out = append(out, ToolFailure{Tool: toolName(ms[i].ToolName), Text: cutText(text, maxFailureText)})
		}
	}
	return out[max(0, len(out)-maxFailures):]
}
