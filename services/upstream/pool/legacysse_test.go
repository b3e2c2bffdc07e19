package pool_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestLegacyStreams(t *testing.T) {
	endpoint := func(data string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			writeEvents(w, "event: endpoint\ndata: "+strings.ReplaceAll(data, "$HOST", r.Host)+"\n\n")
			<-r.Context().Done()
		}
	}
	for _, tc := range []struct {
		name string
		get  func(http.ResponseWriter, *http.Request)
		code fault.Code
		text string
	}{
		{"another host", endpoint("http://elsewhere.example/x"), fault.CodeUpstreamInvalidResponse, "different origin"},
		{"another port", endpoint("http://127.0.0.1:1/x"), fault.CodeUpstreamInvalidResponse, "different origin"},
		{"another scheme", endpoint("https://$HOST/x"), fault.CodeUpstreamInvalidResponse, "different origin"},
		{"no scheme", endpoint("//elsewhere.example/x"), fault.CodeUpstreamInvalidResponse, "different origin"},
		{"user", endpoint("http://a:b@$HOST/x"), fault.CodeUpstreamInvalidResponse, "different origin"},
		{"no URL", endpoint("http://[::1"), fault.CodeUpstreamInvalidResponse, "different origin"},
		{"no stream", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, "{}") }, fault.CodeUpstreamInvalidResponse, "event stream"},
		{"404", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, fault.CodeUpstreamUnavailable, "404"},
		{"401", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, fault.CodeUpstreamUnauthorized, "401"},
		{"early end", func(w http.ResponseWriter, _ *http.Request) { writeEvents(w, ": hi\n\n") }, fault.CodeUpstreamUnavailable, "closed"},
		{"no endpoint", func(w http.ResponseWriter, r *http.Request) { writeEvents(w, ": hi\n\n"); <-r.Context().Done() }, fault.CodeUpstreamTimeout, ""},
		{"endless line", func(w http.ResponseWriter, r *http.Request) {
			writeEvents(w, "data: ")
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		}, fault.CodeUpstreamInvalidResponse, "10 MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var posts int
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					tc.get(w, r)
					return
				}
				posts++
			}))
			p, limit := newPool(t), 10*time.Second
			if tc.code == fault.CodeUpstreamTimeout {
				limit = 200 * time.Millisecond
			}
			_, err := p.Describe(testContext(t), target(srv.URL, over("sse"), within(limit)))
			p.Close()
			srv.Close()
			wantFault(t, err, tc.code, tc.text)
			if posts != 0 {
				t.Errorf("%d messages were sent", posts)
			}
		})
	}
}

func TestLegacyStreamBreaks(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20241105}, Tools: upstreamtest.Standard(2)})
	p, to := newPool(t), target(s.Start(t))
	mustCall(t, p, to, echo("warm"))
	broken := make(chan error, 1)
	go func() {
		_, err := p.Call(testContext(t), to, &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"sleep","arguments":{"ms":60000}}`)})
		broken <- err
	}()
	if _, err := s.WaitForRequests(testContext(t), "tools/call", 2); err != nil {
		t.Fatal(err)
	}
	s.DropSessions()
	wantFault(t, <-broken, fault.CodeUpstreamUnavailable) // it may have run, so it is not retried
	mustCall(t, p, to, echo("after"))
	if n := s.Calls(); n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
}

func TestInvalidDataEndsLegacyStream(t *testing.T) {
	for kind, text := range map[upstreamtest.FaultKind]string{
		upstreamtest.InvalidJSON: "invalid JSON-RPC",
		upstreamtest.Huge:        "10 MiB",
	} {
		s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20241105}, Tools: upstreamtest.Standard(1)})
		p, to := newPool(t), target(s.Start(t))
		mustCall(t, p, to, echo("warm"))
		s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: kind})
		_, err := p.Call(testContext(t), to, echo("x"))
		wantFault(t, err, fault.CodeUpstreamInvalidResponse, text)
		s.SetFault()
		mustCall(t, p, to, echo("after"))
	}
}
