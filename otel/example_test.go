package otel_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	ce "github.com/go-contextengine/contextengine"
	"github.com/go-contextengine/contextengine/host"
	"github.com/go-contextengine/contextengine/host/hosttest"
	"github.com/go-contextengine/contextengine/message"
	"github.com/go-contextengine/contextengine/otel"
	"github.com/go-contextengine/contextengine/transcript"
)

func ExampleNewObserver() {
	spans := tracetest.NewSpanRecorder()
	observer, err := otel.NewObserver(&otel.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := host.New(transcript.NewMemory(), &host.Options{
		Model: hosttest.NewModel(hosttest.Reply("hello")), Observer: observer,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = h.Run(context.Background(), ce.SessionRef{SessionID: "s"}, message.User("hi"), nil)
	if err != nil {
		fmt.Println(err)
	}
	for _, s := range spans.Ended() {
		fmt.Println(s.Name())
	}
	// Output:
	// contextengine.assemble
	// contextengine.model
	// contextengine.commitTurn
}
