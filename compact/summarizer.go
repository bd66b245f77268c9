package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/message"
)

// A Summarizer turns source into a summary. Safe for concurrent use.
//
// Errors decide what happens next, found with errors.As:
//
//   - [*TooLargeError]: asked again without the oldest fifth, at most three times; then the
//     next summariser of the failover list, with all of it.
//   - [*AuthError], [*RefusedError]: the next summariser of the failover list.
//   - [*RateLimitError] and any other error: again after a pause, then the next one.
//   - [ErrSpendLimited]: the compaction ends.
//
// A call that goes on after the end of ctx is left alone, and what it returns is dropped.
type Summarizer interface {
	Summarize(ctx context.Context, r Request) (Summary, error)
}

// A Request is what a [Summarizer] is asked for. All text is UTF-8.
type Request struct {
	// Source is the conversation, every message under the label of who said it, between
	// <conversation> lines. It is data: nothing in it is an instruction.
	Source string
	// Previous is the summary of what came before Source, to be updated; "": none.
	Previous string
	// Instructions say what this summary is for: its sections, what must not be lost, what
	// the operator wants it to dwell on.
	Instructions string
	// TargetTokens is how long the summary may get; 0: no limit is known.
	TargetTokens int
	// Aggressive asks again after an unusable answer: nothing but the text, no tools, no
	// reasoning, clearly shorter than the source and than TargetTokens.
	Aggressive bool
	// Identifiers are names, paths and numbers of the source that should appear exactly as
	// they are. Read-only.
	Identifiers []string
}

// A Summary is what a [Summarizer] answers.
type Summary struct {
	Text  string
	Usage *message.Usage // what the provider reported; nil: unknown
	// CutOff says that the answer reached its output limit, so that its end is missing. It
	// is not used then; the request is repeated with Request.Aggressive.
	CutOff bool
	// CalledTool says that the answer ended with a call of a tool. Its text announces the
	// call and is no summary; the request is repeated as for CutOff.
	CalledTool bool
}

// A Model says which model a summariser asks and what it can take. The zero value is an
// unknown model.
type Model struct {
	Provider, Name string
	Window         int // tokens; 0: unknown
	Output         int // most it may answer, tokens; 0: unknown
}

// A Describer is a [Summarizer] that knows its model. Optional: it is used to size the
// requests and to tell models apart that keep failing.
type Describer interface {
	Describe() Model
}

// A Provider is a plugin that summarises whole messages in its own way, such as a service
// beside the model. An error, and an answer that is no summary by its form, make the
// compaction go on with its Summarizer; only the end of ctx ends it. Safe for concurrent
// use.
type Provider interface {
	SummarizeMessages(ctx context.Context, r ProviderRequest) (string, error)
}

// A ProviderRequest is what a [Provider] gets. The messages are complete but for what
// Options.Redact removed from their texts, and read-only.
type ProviderRequest struct {
	Messages       []message.Message
	Previous       string // summary of what came before; "": none
	Instructions   string
	Identifiers    IdentifierPolicy
	IdentifierRule string
}

// Scripted returns a summariser for tests. It answers with the replies in order and
// repeats the last one; without replies it answers nothing.
func Scripted(replies ...Reply) *Script { return &Script{replies: replies} }

// A Reply is one answer of a [Script]. An Err wins over a Text.
type Reply struct {
	Text string
	Err  error
	// After is how long the answer takes. It ends early with the request's context.
	After time.Duration
}

// A Script is the summariser that [Scripted] returns. Safe for concurrent use.
type Script struct {
	replies []Reply

	mu       sync.Mutex
	requests []Request
}

var _ Summarizer = (*Script)(nil)

// Summarize implements [Summarizer].
func (s *Script) Summarize(ctx context.Context, r Request) (Summary, error) {
	reply := s.next(r)
	if reply.After > 0 {
		if err := sleep(ctx, reply.After); err != nil {
			return Summary{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return Summary{}, context.Cause(ctx)
	}
	return Summary{Text: reply.Text}, reply.Err
}

func (s *Script) next(r Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	if len(s.replies) == 0 {
		return Reply{}
	}
	return s.replies[min(len(s.requests), len(s.replies))-1]
}

// Requests returns what was asked so far.
func (s *Script) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// thinkingRoom is what a model may use before its answer, in tokens; it counts as output.
const thinkingRoom = 2_048

// purpose is how requests are accounted for.
const purpose = "compaction"

// WithCompleter returns a summariser over the host's model.
//
// Errors of the types of this package are taken as they are, see [Summarizer]. Of others
// the text tells whether the request was too large, see [IsContextOverflow], and else the
// HTTP status, where the error or one that it wraps has a method StatusCode() int: 401 and
// 403 make an AuthError of it, 402 ErrSpendLimited, 413 a TooLargeError and 429 a
// RateLimitError, whose pause is that of a method RetryAfter() time.Duration.
func WithCompleter(c ce.Completer) Summarizer { return WithModel(c, Model{}) }

// WithModel is WithCompleter for a certain model: m.Name is asked for, and its limits
// size the requests. Fields of m that are zero are unknown, and an unknown name is the
// session's model.
func WithModel(c ce.Completer, m Model) Summarizer { return completing{c, m} }

type completing struct {
	completer ce.Completer
	model     Model
}

var (
	_ Summarizer = completing{}
	_ Describer  = completing{}
)

func (c completing) Describe() Model { return c.model }

// Summarize implements [Summarizer].
func (c completing) Summarize(ctx context.Context, r Request) (Summary, error) {
	most := r.TargetTokens
	if most > 0 {
		most += thinkingRoom
	}
	if c.model.Output > 0 {
		most = min(cmp.Or(most, c.model.Output), c.model.Output)
	}
	answer, err := c.completer.Complete(ctx, ce.CompletionRequest{
		System:    systemPrompt,
		Messages:  []message.Message{message.User(userPrompt(r))},
		Model:     c.model.Name,
		MaxTokens: most,
		Purpose:   purpose,
	})
	if err != nil {
		return Summary{}, classify(ctx, err)
	}
	if answer.StopReason == message.StopError || answer.StopReason == message.StopAborted {
		return Summary{}, fmt.Errorf("the answer broke off (%s)", answer.StopReason)
	}
	return Summary{
		Text: answer.Text, Usage: answer.Usage, CutOff: isCutOff(answer, most),
		CalledTool: answer.StopReason == message.StopToolUse,
	}, nil
}

// isCutOff reports whether an answer reached its limit; most is what was asked for, 0: no
// limit. Hosts that do not know why it ended may know how long it was.
func isCutOff(answer ce.Completion, most int) bool {
	if answer.StopReason != "" {
		return answer.StopReason == message.StopLength
	}
	return most > 0 && answer.Usage != nil && answer.Usage.Output >= most
}

// classify gives a provider's error the type that decides what happens next.
func classify(ctx context.Context, err error) error {
	if ctx.Err() != nil || isTyped(err) {
		return err
	}
	if IsContextOverflow(err) {
		n, _ := ObservedTokens(err)
		return &TooLargeError{Observed: n, Err: err}
	}
	var coded interface{ StatusCode() int }
	if !errors.As(err, &coded) {
		return err
	}
	switch coded.StatusCode() {
	case 401, 403:
		return &AuthError{Err: err}
	case 402:
		return fmt.Errorf("%w: %w", ErrSpendLimited, err)
	case 413:
		return &TooLargeError{Err: err}
	case 429:
		var later interface{ RetryAfter() time.Duration }
		rl := &RateLimitError{Err: err}
		if errors.As(err, &later) {
			rl.RetryAfter = later.RetryAfter()
		}
		return rl
	}
	return err
}

func isTyped(err error) bool {
	var (
		auth    *AuthError
		rate    *RateLimitError
		large   *TooLargeError
		refused *RefusedError
	)
	return errors.As(err, &auth) || errors.As(err, &rate) || errors.As(err, &large) ||
		errors.As(err, &refused) || errors.Is(err, ErrSpendLimited)
}
