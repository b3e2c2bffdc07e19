package bed

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"

	"mcpgateway/services/upstream/upstreamtest"
)

// UpstreamPath returns the path of the n-th server of ServeUpstreams.
func UpstreamPath(n int) string { return "/" + strconv.Itoa(n) + "/mcp" }

// ServeUpstreams serves MCP servers on listener, each on a path of its own and
// with the same tools, echo first, until ctx ends. They speak every revision
// and answer with JSON. It calls ready with their common base URL.
func ServeUpstreams(ctx context.Context, listener net.Listener, servers, tools int, ready func(url string)) error {
	shared := upstreamtest.Standard(tools)
	all := make([]*upstreamtest.Server, servers)
	for n := range all {
		all[n] = upstreamtest.New(upstreamtest.Options{
			Name: "bench-" + strconv.Itoa(n), Path: UpstreamPath(n), Tools: shared, Answer: upstreamtest.AnswerJSON, Record: -1,
		})
		defer all[n].Close()
	}
	url, err := all[0].Serve(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	ready(strings.TrimSuffix(url, UpstreamPath(0)))
	<-ctx.Done()
	return nil
}
