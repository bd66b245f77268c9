package contextengine

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/tokens"
	"github.com/go-contextengine/contextengine/transcript"
)

// LendRuntime prepares what a host lends for a turn: errors and panics of the
// Compactor, the Rewriter, the Completer and the Memory section come back as
// [*HostError], so that the guard blames nobody else. The Estimator, which cannot
// return an error, panics with one. Call it once per turn and pass the result to
// every call; lending what is lent already changes nothing.
func LendRuntime(rt RuntimeContext) *RuntimeContext {
	if rt.Compactor != nil {
		rt.Compactor = lendCompactor(rt.Compactor)
	}
	if rt.Rewriter != nil {
		rt.Rewriter = lendRewriter(rt.Rewriter)
	}
	if rt.Completer != nil {
		rt.Completer = lendCompleter(rt.Completer)
	}
	if rt.Memory != nil {
		rt.Memory = lendMemory(rt.Memory)
	}
	if rt.Estimator != nil {
		rt.Estimator = lendEstimator(rt.Estimator)
	}
	return &rt
}

// LendReader does for a transcript what [LendRuntime] does for the rest. nil
// stays nil.
func LendReader(r transcript.Reader) transcript.Reader {
	if r == nil {
		return nil
	}
	if _, ok := r.(lentReader); ok {
		return r
	}
	return lentReader{r}
}

// lend runs one operation of the host.
func lend[R any](op string, f func() (R, error)) (r R, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &HostError{Op: op, Err: newPanicError(v)}
		}
	}()
	r, err = f()
	return r, hostError(op, err)
}

// hostError marks err as the host's, once.
func hostError(op string, err error) error {
	if err == nil {
		return nil
	}
	if he := (*HostError)(nil); errors.As(err, &he) {
		return err
	}
	return &HostError{Op: op, Err: err}
}

type lentCompactor struct{ inner Compactor }

func lendCompactor(c Compactor) Compactor {
	if _, ok := c.(lentCompactor); ok {
		return c
	}
	return lentCompactor{c}
}

func (l lentCompactor) CompactSession(ctx context.Context, p CompactParams) (CompactResult, error) {
	return lend("compact session", func() (CompactResult, error) { return l.inner.CompactSession(ctx, p) })
}

type lentRewriter struct{ inner Rewriter }

func lendRewriter(r Rewriter) Rewriter {
	if _, ok := r.(lentRewriter); ok {
		return r
	}
	return lentRewriter{r}
}

func (l lentRewriter) Rewrite(ctx context.Context, r transcript.RewriteRequest) (transcript.RewriteResult, error) {
	return lend("rewrite transcript", func() (transcript.RewriteResult, error) { return l.inner.Rewrite(ctx, r) })
}

type lentCompleter struct{ inner Completer }

func lendCompleter(c Completer) Completer {
	if _, ok := c.(lentCompleter); ok {
		return c
	}
	return lentCompleter{c}
}

func (l lentCompleter) Complete(ctx context.Context, r CompletionRequest) (Completion, error) {
	return lend("complete", func() (Completion, error) { return l.inner.Complete(ctx, r) })
}

type lentMemory struct{ inner MemorySection }

func lendMemory(m MemorySection) MemorySection {
	if _, ok := m.(lentMemory); ok {
		return m
	}
	return lentMemory{m}
}

func (l lentMemory) Lines(tools []string, mode CitationsMode) ([]string, error) {
	return lend("render memory section", func() ([]string, error) { return l.inner.Lines(tools, mode) })
}

// lentEstimator marks panics of the host's token accounting as the host's.
type lentEstimator struct{ inner tokens.Estimator }

func lendEstimator(e tokens.Estimator) tokens.Estimator {
	if _, ok := e.(lentEstimator); ok {
		return e
	}
	return lentEstimator{e}
}

func (l lentEstimator) Text(s string) int {
	defer hostPanic("count tokens")
	return l.inner.Text(s)
}

func (l lentEstimator) Message(m message.Message) int {
	defer hostPanic("count tokens")
	return l.inner.Message(m)
}

// Messages keeps the short way of estimators that have one.
func (l lentEstimator) Messages(ms []message.Message) int {
	defer hostPanic("count tokens")
	return tokens.Messages(l.inner, ms)
}

func (l lentEstimator) Schema(tool json.RawMessage) int {
	defer hostPanic("count tokens")
	return l.inner.Schema(tool)
}

// hostPanic, deferred, turns a panic into one with a HostError, for methods that
// cannot return it.
func hostPanic(op string) {
	v := recover()
	if v == nil {
		return
	}
	if he, ok := v.(*HostError); ok {
		panic(he)
	}
	panic(&HostError{Op: op, Err: newPanicError(v)})
}

// lentReader marks errors of a transcript as the host's.
type lentReader struct{ transcript.Reader }

func (l lentReader) Header() transcript.Header {
	defer hostPanic("read transcript header")
	return l.Reader.Header()
}

func (l lentReader) Problems() []transcript.Problem {
	defer hostPanic("read transcript problems")
	return l.Reader.Problems()
}

func (l lentReader) View(ctx context.Context) (transcript.View, error) {
	return lend("read transcript view", func() (transcript.View, error) { return l.Reader.View(ctx) })
}

func (l lentReader) Branch(ctx context.Context) iter.Seq2[transcript.Entry, error] {
	return lendRows("read transcript branch", func() iter.Seq2[transcript.Entry, error] { return l.Reader.Branch(ctx) })
}

func (l lentReader) Entries(ctx context.Context) iter.Seq2[transcript.Entry, error] {
	return lendRows("read transcript", func() iter.Seq2[transcript.Entry, error] { return l.Reader.Entries(ctx) })
}

// lendRows marks the errors of an iteration. A panic of the sequence ends it with
// an error row, or with nothing when the loop has ended already; a panic of the
// loop body is the engine's and goes on.
func lendRows(op string, open func() iter.Seq2[transcript.Entry, error]) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		var inBody, stopped bool
		fault := func() (fault error) {
			defer func() {
				if inBody {
					return
				}
				if v := recover(); v != nil {
					fault = &HostError{Op: op, Err: newPanicError(v)}
				}
			}()
			for e, err := range open() {
				inBody = true
				more := yield(e, hostError(op, err))
				inBody = false
				if !more {
					stopped = true
					return nil
				}
			}
			return nil
		}()
		if fault != nil && !stopped {
			yield(transcript.Entry{}, fault)
		}
	}
}
