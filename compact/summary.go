package compact

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-contextengine/contextengine/message"
)

// headTurn is the section for the begun part of a turn whose end is kept; in the next
// summary it is history under headEarlier.
const (
	headTurn    = "## Turn in progress"
	headEarlier = "## Earlier turn"
)

// An auditError is a summary that lacks what it has to hold.
type auditError struct{ missing []string }

func (e *auditError) Error() string {
	return "the summary was rejected: " + strings.Join(e.missing, "; ")
}

// required is what a stored summary has to hold.
type required struct {
	names []string // identifiers that people or the model named in the source
	// carried are identifiers of the summary before. They are kept where there is room,
	// but a summary may drop what no longer matters.
	carried []string
	ask     string // the last ask that is not answered yet
	files   FileLists
}

// write makes the text that would be stored for a plan.
func (j *job) write(ctx context.Context, p *Plan, need required) (string, error) {
	text, err := j.fromProvider(ctx, p)
	if err != nil {
		return "", err
	}
	if text != "" {
		return j.finish(text, need)
	}
	var missing []string
	for attempt := 0; ; attempt++ {
		text, err := j.fromModel(ctx, p, need, missing)
		if err != nil {
			return "", err
		}
		if text, err = j.finish(text, need); err != nil {
			return "", err
		}
		if j.s.Audit.Attempts == 0 || j.extract {
			return text, nil
		}
		missing = AuditSummary(AuditInput{
			Summary: text, Identifiers: need.names, LatestAsk: need.ask, Policy: j.s.Identifiers,
		})
		if len(missing) == 0 {
			return text, nil
		}
		if attempt >= max(0, j.s.Audit.Attempts) {
			return "", &auditError{missing}
		}
	}
}

// finish makes the text that would be stored of a summary.
func (j *job) finish(text string, need required) (string, error) {
	text = strings.TrimSpace(j.s.redact(j.complete(text, need)))
	if text == "" {
		return "", &flawError{flawBlank}
	}
	return text, nil
}

// smallShare is the part of a source, one in so many, from which on it has to get shorter
// by itself.
const smallShare = 4

// fromModel asks for the summary of the history, and for one of a begun turn. A history
// without messages keeps its previous summary as it is.
func (j *job) fromModel(ctx context.Context, p *Plan, need required, missing []string) (string, error) {
	history, turn := p.Summarise, p.TurnPrefix
	// A copy of sentences says the same about both. Two requests may be one too many.
	if j.s.exact() || j.s.MaxCalls-j.calls < 2 {
		history, turn = slices.Concat(history, turn), nil
	}
	text := p.Previous
	var err error
	if len(history) > 0 {
		if text, err = j.ofHistory(ctx, p, history, need, missing); err != nil {
			return "", err
		}
	}
	if len(turn) == 0 {
		return text, nil
	}
	st := stage{rules: instructionSet{task: prefixInstructions, sections: text == ""}}
	if len(history) == 0 {
		st.names, st.rules.missing = need.names, missing
	}
	st.pieces = j.render(turn, st)
	begun, err := j.run(ctx, st)
	if text != "" && sizeOf(st.pieces) < p.Source/smallShare {
		begun, err = orSource(begun, err, "", st.pieces)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("summarising the begun turn: %w", err)
	case text == "":
		return begun, nil
	}
	return joinTurn(text, begun), nil
}

// ofHistory asks for the summary of what comes before a begun turn.
func (j *job) ofHistory(ctx context.Context, p *Plan, ms []message.Message, need required, missing []string) (string, error) {
	st := stage{previous: p.Previous, names: need.names}
	st.rules = instructionSet{task: firstInstructions, sections: true, missing: missing}
	if p.Previous != "" {
		st.rules.task = updateInstructions
	}
	st.pieces = j.render(ms, st)
	text, err := j.run(ctx, st)
	if sizeOf(st.pieces) < p.Source/smallShare {
		return orSource(text, err, p.Previous, st.pieces)
	}
	return text, err
}

// exact reports whether the summary is made without a model.
func (s *settings) exact() bool {
	_, ok := s.Summarizer.(extractive)
	return ok && len(s.Failover) == 0
}

// joinTurn adds the summary of a begun turn to that of the history before it. Both have
// sections; those of the turn become smaller ones.
func joinTurn(history, begun string) string {
	begun = strings.ReplaceAll("\n"+begun, "\n## ", "\n### ")[1:]
	begun = strings.TrimSpace(begun)
	history = strings.ReplaceAll("\n"+history, "\n"+headTurn+"\n", "\n"+headEarlier+"\n")[1:]
	return strings.TrimRight(history, "\n") + "\n\n" + headTurn + "\n" + begun
}

// fromProvider asks the plugin, if there is one; "" when it has no answer.
func (j *job) fromProvider(ctx context.Context, p *Plan) (string, error) {
	if j.s.Provider == nil {
		return "", nil
	}
	source := slices.Concat(p.Summarise, p.TurnPrefix)
	text, err := bounded(ctx, func(ctx context.Context) (string, error) {
		return j.s.Provider.SummarizeMessages(ctx, ProviderRequest{
			Messages: source, Previous: p.Previous,
			Instructions: j.s.instructions(instructionSet{task: firstInstructions, sections: true}, j.focus),
			Identifiers:  j.s.Identifiers, IdentifierRule: j.s.IdentifierRule,
		})
	})
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		j.s.Logger.WarnContext(ctx, "compaction provider failed, asking the summariser", "error", j.s.redact(err.Error()))
		return "", nil
	}
	text, f := judge(text, fence(textsOf(j.s.pieces(source, usualLimits()))))
	if f == "" && j.s.counter.Text(text) >= p.Before-p.Kept {
		f = flawLength
	}
	if f != "" {
		j.s.Logger.WarnContext(ctx, "compaction provider gave no summary, asking the summariser", "flaw", string(f))
		return "", nil
	}
	j.answered = "provider"
	return text, nil
}

// What may go to facts that are added to a summary: a part of its room, and of the source
// that it replaces, so that small sources get smaller, too.
const (
	factShare   = 4
	sourceShare = 8
)

// complete adds to a summary what must not be lost and is not in it: the ask that is
// still open, identifiers, and the files of the session. What was copied from earlier
// lists of files is replaced.
func (j *job) complete(text string, need required) string {
	text = withoutSection(text, headFiles)
	lines := fileLines(need.files, min(maxFileList, j.source/2))
	room := min(j.room/factShare, j.source/sourceShare)
	if need.ask != "" && !reflects(text, need.ask) {
		ask := cutText(collapse(need.ask), 2*maxFact)
		if cost := j.s.counter.Text(ask); cost <= room {
			room -= cost
			text = addTo(text, headAsks, bullets([]string{ask}))
		}
	}
	if j.s.Identifiers == IdentifiersStrict && !j.extract {
		missing := missingFrom(text+"\n"+strings.Join(lines, "\n"), interleave(need.names, need.carried))
		text = addTo(text, headIdentifiers, bullets(j.s.fitting(missing, room)))
	}
	if len(lines) > 0 {
		text = strings.TrimRight(text, "\n") + "\n\n" + headFiles + "\n" + strings.Join(lines, "\n")
	}
	return text
}

// needs collects what the summary of a plan has to hold.
func (s *settings) needs(p *Plan, files FileOperations) required {
	history, begun := s.segmentsOf(p.Summarise), s.segmentsOf(p.TurnPrefix)
	files.add(p.Summarise)
	files.add(p.TurnPrefix)
	n := required{files: s.redactFiles(files.Lists())}
	if s.Identifiers == IdentifiersStrict {
		n.names = requiredIdentifiers(append(history, begun...))
		n.carried = carriedIdentifiers(p.Previous)
	}
	if n.ask = lastAsk(begun); n.ask == "" {
		n.ask = unanswered(history)
	}
	return n
}

func (s *settings) redactFiles(l FileLists) FileLists {
	for _, list := range [...][]string{l.ReadFiles, l.ModifiedFiles} {
		for i := range list {
			list[i] = s.redact(list[i])
		}
	}
	return l
}
