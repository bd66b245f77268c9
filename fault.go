package contextengine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// maxErrorTree bounds how many errors of one tree are looked at: an engine's
// error may wrap itself.
const maxErrorTree = 1000

// A fault is what the guard makes of an error.
type fault struct {
	err       error  // as it came, or a stand-in where looking at it is not safe
	class     string // error, panic, contract or deadline
	host      bool   // something that the host lent failed
	cancelled bool   // the caller's context is done, and the error says so
	text      string // of what failed, in its own words
}

// examine classifies an error. An error that panics when it is asked, a nil
// pointer in an error, and one that wraps itself are replaced, so that nobody
// behind the guard trips over them.
func examine(ctx context.Context, err error) (f fault) {
	defer func() {
		if v := recover(); v != nil {
			f = opaque(err)
		}
	}()
	if !finite(err) {
		return opaque(err)
	}
	f = fault{err: err, class: classOf(err), text: ownWords(err).Error()}
	var host *HostError
	f.host = errors.As(err, &host)
	ended := ctx.Err()
	target := ended
	if target == nil {
		target = context.Canceled // one that panics when it is compared does it here
	}
	says := errors.Is(err, target) || errors.Is(err, context.Cause(ctx))
	f.cancelled = says && ended != nil && f.class != ClassPanic
	return f
}

// ownWords is what failed, without the boundaries of Handles in between: an engine
// may be a Handle itself.
func ownWords(err error) error {
	for {
		op, ok := err.(*OpError)
		if !ok || op.Err == nil {
			return err
		}
		err = op.Err
	}
}

// presentable returns err, or what stands for it where looking at it is not safe.
// nil stays nil.
func presentable(err error) error {
	if err == nil {
		return nil
	}
	return examine(context.Background(), err).err
}

// opaque is the fault of an error that cannot be examined.
func opaque(err error) fault {
	text := fmt.Sprintf("error of type %T that cannot be examined", err)
	return fault{err: errors.New(text), class: ClassError, text: text}
}

// finite reports whether err and what it wraps are real values, and few.
func finite(err error) bool {
	todo := []error{err}
	for n := 0; len(todo) > 0; n++ {
		e := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if e == nil {
			continue
		}
		if v := reflect.ValueOf(e); n == maxErrorTree || v.Kind() == reflect.Pointer && v.IsNil() {
			return false
		}
		switch u := e.(type) {
		case interface{ Unwrap() error }:
			todo = append(todo, u.Unwrap())
		case interface{ Unwrap() []error }:
			todo = append(todo, u.Unwrap()...)
		}
	}
	return true
}

func classOf(err error) string {
	var (
		panicked *PanicError
		contract *ContractError
		deadline *DeadlineError
	)
	switch {
	case errors.As(err, &panicked):
		return ClassPanic
	case errors.As(err, &contract):
		return ClassContract
	case errors.As(err, &deadline):
		return ClassDeadline
	}
	return ClassError
}
