package hosttest

import (
	"context"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/report"
	"github.com/go-contextengine/contextengine/transcript"
)

// A Driver is what the lifecycle scripts lead. The methods mean what those of
// [host.Host] do.
type Driver interface {
	// Begin opens a turn with the user's input.
	Begin(ctx context.Context, ref ce.SessionRef, input message.Message, opts *host.TurnOptions) (Turn, error)
	// Run takes an input through a whole turn.
	Run(ctx context.Context, ref ce.SessionRef, input message.Message, opts *host.TurnOptions) (host.Outcome, error)
	// Compact is the manual compaction.
	Compact(ctx context.Context, ref ce.SessionRef, instructions string) (ce.CompactResult, error)
	// EndSession tells the engine that a session is over.
	EndSession(ctx context.Context, ref ce.SessionRef, reason ce.Boundary, successor ce.SessionRef) error
	// Select changes the engine from the next turn on.
	Select(s ce.Selection)
	// Status tells how a session stands.
	Status(ref ce.SessionRef) report.Status
	// Spent tells what engines and compactions spent on a session.
	Spent(ref ce.SessionRef) host.Spending
	// Close ends open turns, drains the background, and closes the engine.
	Close(ctx context.Context) error
}

// A Turn is an open turn of a [Driver]. The methods mean what those of [host.Turn] do.
type Turn interface {
	// Request is what to send now.
	Request() host.Request
	// Append stores what the turn adds.
	Append(ctx context.Context, ms ...message.Message) error
	// Recover makes a request smaller that a provider refused. true: send it again.
	Recover(ctx context.Context, err error) (bool, error)
	// End ends the turn, and delivers it where it went well.
	End(ctx context.Context, failure error) (host.Outcome, error)
}

// A NewDriver makes a driver over a store. The options are those that a script asks for.
type NewDriver func(store transcript.Store, opts *host.Options) (Driver, error)

var (
	_ NewDriver = NewHost
	_ Turn      = (*host.Turn)(nil)
)

// NewHost makes a [host.Host], the driver that the scripts were written for.
func NewHost(store transcript.Store, opts *host.Options) (Driver, error) {
	h, err := host.New(store, opts)
	if err != nil {
		return nil, err
	}
	return hostDriver{h}, nil
}

// hostDriver gives Begin its result type.
type hostDriver struct{ *host.Host }

// Begin implements [Driver].
func (d hostDriver) Begin(ctx context.Context, ref ce.SessionRef, input message.Message, opts *host.TurnOptions) (Turn, error) {
	t, err := d.Host.Begin(ctx, ref, input, opts)
	if err != nil {
		return nil, err
	}
	return t, nil
}
