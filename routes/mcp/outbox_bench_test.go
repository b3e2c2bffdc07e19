package mcp_test

import (
	"context"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/outbox"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/secrets"
)

// BenchmarkCallWithDestination measures calls of two applications in turn: without
// a destination of events, and with one that refuses connections while 20 events
// per second are raised. Run it with -count.
func BenchmarkCallWithDestination(b *testing.B) {
	_, without := warmApp(b, 10)
	app, failing := warmApp(b, 10)
	_, _, err := app.Services.Destinations.Create(b.Context(), destinations.New{
		Name: "down", Kind: models.DestinationWebhook, Address: secrets.NewValue("http://127.0.0.1:1/"),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	raised := make(chan struct{})
	go func() {
		defer close(raised)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = app.Services.Events.AddNow(ctx, outbox.Event{Kind: outbox.ServerDown, Data: map[string]string{"message": "bench"}})
			}
		}
	}()
	defer func() { cancel(); <-raised }()
	for _, tt := range []struct {
		name string
		send func(string) []byte
	}{{"without", without}, {"failing", failing}} {
		b.Run(tt.name, func(b *testing.B) {
			for b.Loop() {
				tt.send(echoCall)
			}
		})
	}
}
