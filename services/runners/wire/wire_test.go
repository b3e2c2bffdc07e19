package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"mcpgateway/services/runners/wire"
)

func TestRequestsOnOneConnection(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wire.Serve(t.Context(), theirs, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(wire.List{Version: wire.Version, Runner: r.URL.Path})
		}), nil)
	}()
	c, err := wire.NewClient(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://runner"+wire.PathServers, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		var list wire.List
		if err != nil || json.Unmarshal(body, &list) != nil || list.Runner != wire.PathServers {
			t.Fatalf("got %q, %v", body, err)
		}
	}
	closed := make(chan struct{})
	c.OnEnd(func() { close(closed) })
	_ = c.Close()
	<-ended // the runner sees the end
	<-closed
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://runner/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := c.RoundTrip(r); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("after Close: %v, %v", resp, err)
	}
}
