package measure

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mcpgateway/services/upstream/upstreamtest"
)

// UpstreamPath returns the path of server n, counted from 0.
func UpstreamPath(n int) string { return "/" + strconv.Itoa(n) + "/mcp" }

// Upstreams are MCP servers that support every revision. Each has its own path;
// all have the same tools, of which echo is the first.
type Upstreams struct {
	Servers, Tools int
	TLS            *tls.Config   // nil serves http
	Events         bool          // respond with event streams instead of JSON
	Padding        int           // bytes that echo appends to its text
	Latency        time.Duration // of every call
}

// Serve serves the servers on listener until ctx is done. It calls ready with
// their base URL.
func (u Upstreams) Serve(ctx context.Context, listener net.Listener, ready func(url string)) error {
	shared, answer := upstreamtest.Standard(u.Tools), upstreamtest.AnswerJSON
	if u.Padding > 0 {
		shared[0].Call = padded(shared[0].Call, u.Padding)
	}
	if u.Events {
		answer = upstreamtest.AnswerSSE
	}
	all := make([]*upstreamtest.Server, u.Servers)
	for n := range all {
		all[n] = upstreamtest.New(upstreamtest.Options{
			Name: "bench-" + strconv.Itoa(n), Path: UpstreamPath(n), Tools: shared, Answer: answer, Record: -1,
		})
		if u.Latency > 0 {
			all[n].SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Delay, Latency: u.Latency})
		}
		defer all[n].Close()
	}
	scheme := "http://"
	if u.TLS != nil {
		listener, scheme = tls.NewListener(listener, u.TLS), "https://"
	}
	address := listener.Addr().String()
	_, err := all[0].Serve(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n >= len(all) {
			http.NotFound(w, r)
			return
		}
		all[n].ServeHTTP(w, r)
	}))
	if err != nil {
		return err
	}
	ready(scheme + address)
	<-ctx.Done()
	return nil
}

// padded returns echo with n letters appended to its text.
func padded(echo func(context.Context, *upstreamtest.Call) upstreamtest.Result, n int) func(context.Context, *upstreamtest.Call) upstreamtest.Result {
	const end = `"}]}`
	padding := append(bytes.Repeat([]byte("x"), n), end...)
	return func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
		r := echo(ctx, c)
		if inner, ok := bytes.CutSuffix(r.JSON, []byte(end)); ok {
			r.JSON = append(inner[:len(inner):len(inner)], padding...)
		}
		return r
	}
}
