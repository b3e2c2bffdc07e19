package measure

import (
	"context"
	"path/filepath"
	"strconv"
	"time"

	"mcpgateway/cmd/bench/load"
	"mcpgateway/cmd/internal/stage"
)

// Way is a kind of upstream server, and the numbers of connections to measure it
// with.
type Way struct {
	Name        string
	TLS         string // ALPN protocols of the server; empty means http
	Events      bool   // the server responds with event streams
	Padding     int    // bytes appended to a result
	Latency     time.Duration
	Connections []int
}

// Ways returns the kinds of servers to measure besides http with short JSON
// results.
func Ways() []Way {
	const http1, http2, large, late = "http/1.1", "h2,http/1.1", 64 << 10, 20 * time.Millisecond
	return []Way{
		{Name: "http, event streams", Events: true, Connections: []int{8, 64}},
		{Name: "http, 64 KiB results", Padding: large, Connections: []int{8, 64}},
		{Name: "http, 20 ms latency", Latency: late, Connections: []int{64, 256, 512}},
		{Name: "https", TLS: http1, Connections: []int{1, 8, 64}},
		{Name: "https, event streams", TLS: http1, Events: true, Connections: []int{8, 64}},
		{Name: "https, 64 KiB results", TLS: http1, Padding: large, Connections: []int{8, 64}},
		{Name: "https, 20 ms latency", TLS: http1, Latency: late, Connections: []int{64, 256, 512}},
		{Name: "https with HTTP/2", TLS: http2, Connections: []int{1, 8, 64}},
	}
}

// arguments returns the command line of the server.
func (w *Way) arguments(c Certificate) []string {
	args := []string{"upstream", "-tools", "10"}
	if w.TLS != "" {
		args = append(args, "-cert", c.File, "-key", c.Key, "-protocols", w.TLS)
	}
	if w.Events {
		args = append(args, "-events")
	}
	if w.Padding > 0 {
		args = append(args, "-padding", strconv.Itoa(w.Padding))
	}
	if w.Latency > 0 {
		args = append(args, "-latency", w.Latency.String())
	}
	return args
}

// CompareWays compares the gateway with the floor for every kind of server.
func CompareWays(ctx context.Context, b Programs, p CallPlan, ways []Way, progress func(string)) ([]Comparison, error) {
	certificate, err := NewCertificate(b.Folder)
	if err != nil {
		return nil, err
	}
	var all []Comparison
	for i := range ways {
		loads, err := ways[i].compare(ctx, b, p, certificate, progress)
		if err != nil {
			return nil, err
		}
		all = append(all, loads...)
	}
	return all, nil
}

// compare starts a server, and a floor and a gateway in front of it, and compares
// both.
func (w *Way) compare(ctx context.Context, b Programs, p CallPlan, certificate Certificate, progress func(string)) ([]Comparison, error) {
	upstream, err := StartChild(ctx, b.Self, b.Folder, w.arguments(certificate)...)
	if err != nil {
		return nil, err
	}
	defer upstream.Stop()
	floor, err := StartChild(ctx, b.Self, b.Folder, "floor", "-to", upstream.Address, "-ca", w.authority(certificate))
	if err != nil {
		return nil, err
	}
	defer floor.Stop()
	home, err := stage.NewHome(b.Gateway, filepath.Join(b.Folder, "way"), "SSL_CERT_FILE="+certificate.File)
	if err != nil {
		return nil, err
	}
	defer home.Remove()
	gateway, key, err := serveProject(ctx, home, upstream)
	if err != nil {
		return nil, err
	}
	defer gateway.Stop()
	targets := []Target{
		{Name: Floor, PID: floor.PID(), Endpoint: load.Endpoint{Address: floor.Address, Path: UpstreamPath(0), Tool: "echo"}},
		{Name: Gateway, PID: gateway.PID(), Endpoint: load.Endpoint{Address: gateway.Address, Path: stage.ProjectPath(project), Tool: alias + "__echo", Key: key}},
	}
	for i := range targets {
		targets[i].Endpoint.Revision, targets[i].Endpoint.Padding = p.Revision, w.Padding
	}
	p.Connections, p.Rate = w.Connections, 0
	loads, err := Compare(ctx, targets, p, func(load string) { progress(w.Name + ", " + load) })
	for i := range loads {
		loads[i].Way = w.Name
	}
	return loads, err
}

// authority returns the file of the certificate that the floor trusts, or "" for
// http.
func (w *Way) authority(c Certificate) string {
	if w.TLS == "" {
		return ""
	}
	return c.File
}
