//go:build linux || darwin

package bridge_test

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"mcpgateway/services/fault"
	wiring "mcpgateway/services/runners/wire"
	"mcpgateway/services/upstream"
)

// route sends requests to a runner and turns its failures into errors, as the gateway
// does.
type route struct{ *wiring.Client }

func (r route) RoundTrip(request *http.Request) (*http.Response, error) {
	resp, err := r.Client.RoundTrip(request)
	if err != nil || resp.Header.Get(wiring.HeaderFailure) == "" {
		return resp, err
	}
	defer resp.Body.Close()
	var m struct{ Error struct{ Message string } }
	if err := json.NewDecoder(resp.Body).Decode(&m); err != nil {
		return nil, err
	}
	if resp.Header.Get(wiring.HeaderFailure) == wiring.FailureEnded {
		return nil, &upstream.Ended{Text: m.Error.Message}
	}
	return nil, upstream.Stopped("x", m.Error.Message)
}

// overWire serves the host on the connection of a runner and returns the client of
// the gateway.
func (h *host) overWire(t *testing.T) *http.Client {
	t.Helper()
	ours, theirs := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		wiring.Serve(t.Context(), theirs, h, nil)
	}()
	client, err := wiring.NewClient(t.Context(), ours)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.stopAll()
		_ = client.Close()
		<-served
	})
	return wiring.HTTPClient(route{client})
}

// TestEndOverWire ends the program during calls of the gateway: only reads are
// repeated.
func TestEndOverWire(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, era, first string }{
		{"handshake", "2025-06-18", ""},
		{"handshake with events", "2025-06-18", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}`},
		{"2026-07-28", "2026-07-28", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			var calls, reads atomic.Int64
			h := newHost(t, lineProgram(func(line string, write func(string)) bool {
				switch {
				case strings.Contains(line, `"method":"server/discover"`) && c.era == "2026-07-28":
					respond(line, write, `{"supportedVersions":["2026-07-28"],"capabilities":{}}`)
				case shake(line, write):
				case strings.Contains(line, `"method":"server/discover"`):
					return true
				case strings.Contains(line, `"method":"tools/call"`):
					calls.Add(1)
					write(c.first)
					return true
				case strings.Contains(line, `"method":"resources/read"`):
					if write(c.first); reads.Add(1) == 1 {
						return true
					}
					respond(line, write, `{"contents":[]}`)
				}
				return false
			}))
			p, to := newPool(t, "http://runner/")
			to.HTTP, to.EndEvent = h.overWire(t), wiring.EventFailure
			_, err := p.Call(t.Context(), to, &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"x"}`)})
			if !fault.Is(err, fault.CodeUpstreamUnavailable) || !strings.Contains(err.Error(), "exit code 3") || calls.Load() != 1 {
				t.Errorf("tools/call: %v, sent %d times", err, calls.Load())
			}
			resp, err := p.Call(t.Context(), to, &upstream.Request{Method: "resources/read", Params: []byte(`{"uri":"x://y"}`)})
			if err != nil || resp.Error != nil || reads.Load() != 2 {
				t.Errorf("resources/read: %+v, %v, sent %d times", resp, err, reads.Load())
			}
		})
	}
}
