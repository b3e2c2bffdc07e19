package measure_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"mcpgateway/cmd/bench/load"
	"mcpgateway/cmd/bench/measure"
	"mcpgateway/services/background/leaktest"
)

func TestMain(m *testing.M) {
	// Goroutines that fasthttp ends only seconds after its shutdown.
	leaktest.Main(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*TCPDialer).tcpAddrsClean"),
	)
}

func TestParseStat(t *testing.T) {
	const after = " S 1 2 3 4 5 6 7 8 9 10 150 25 1 1 20 0 9 0 12345 1000 200\n"
	for name, c := range map[string]struct {
		stat string
		want time.Duration
		ok   bool
	}{
		"simple name":      {"42 (gateway)" + after, 1750 * time.Millisecond, true},
		"name like a stat": {"42 (a) S 1 2 (b) c)" + after, 1750 * time.Millisecond, true},
		"zero time":        {"42 (x) R 1 2 3 4 5 6 7 8 9 10 0 0 1", 0, true},
		"missing field":    {"42 (x) R 1 2 3 4 5 6 7 8 9 10 0", 0, false},
		"word as time":     {"42 (x) R 1 2 3 4 5 6 7 8 9 10 0 many 1", 0, false},
		"no name":          {"42 R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", 0, false},
		"empty":            {"", 0, false},
		"name only":        {"42 (x)", 0, false},
	} {
		if got, err := measure.ParseStat([]byte(c.stat)); got != c.want || (err == nil) != c.ok {
			t.Errorf("%s: ParseStat() = %v, %v, want %v", name, got, err, c.want)
		}
	}
}

func TestParseStatus(t *testing.T) {
	for name, c := range map[string]struct {
		status string
		want   measure.Memory
		ok     bool
	}{
		"both":           {"Name:\tgateway\nVmHWM:\t    2048 kB\nVmRSS:\t  1024 kB\nThreads:\t5\n", measure.Memory{Now: 1 << 20, Peak: 2 << 20}, true},
		"exited process": {"Name:\tgateway\nState:\tZ (zombie)\n", measure.Memory{}, false},
		"without a peak": {"VmRSS:\t  1024 kB\n", measure.Memory{}, false},
		"another unit":   {"VmRSS:\t  1024 MB\nVmHWM:\t 1 kB\n", measure.Memory{}, false},
		"word as size":   {"VmRSS:\t  much kB\nVmHWM:\t 1 kB\n", measure.Memory{}, false},
	} {
		if got, err := measure.ParseStatus([]byte(c.status)); got != c.want || (err == nil) != c.ok {
			t.Errorf("%s: ParseStatus() = %v, %v, want %v", name, got, err, c.want)
		}
	}
}

func TestUsageOfProcess(t *testing.T) {
	pid := os.Getpid()
	m, err := measure.MemoryOf(pid)
	if err != nil || m.Now < 1<<20 || m.Peak < m.Now/2 {
		t.Errorf("MemoryOf(self) = %+v, %v", m, err)
	}
	before, err := measure.CPU(pid)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		if after, err := measure.CPU(pid); err != nil || after > before {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("CPU time of a busy process did not increase")
		}
	}
	if _, err := measure.CPU(1 << 30); err == nil {
		t.Error("CPU of an invalid process ID = nil error")
	}
}

func TestParseMetrics(t *testing.T) {
	got := measure.ParseMetrics("# HELP a About a.\n# TYPE a counter\na 12\nb{x=\"1 2\",y=\"z\"} 3.5e+06\n\nbroken\nc NaNo\n")
	if diff := cmp.Diff(map[string]float64{"a": 12, `b{x="1 2",y="z"}`: 3.5e6}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFloorForwardsCalls(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 2)
	start := func(serve func(net.Listener, func(string)) error) string {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ready := make(chan string, 1)
		go func() { served <- serve(listener, func(url string) { ready <- url }) }()
		url := <-ready
		if url != "http://"+listener.Addr().String() {
			t.Errorf("ready(%q), want the address %v", url, listener.Addr())
		}
		return listener.Addr().String()
	}
	upstream := start(func(l net.Listener, ready func(string)) error {
		return measure.Upstreams{Servers: 3, Tools: 7}.Serve(ctx, l, ready)
	})
	floor := start(func(l net.Listener, ready func(string)) error {
		return measure.ServeFloor(ctx, l, upstream, nil, ready)
	})
	for _, address := range []string{upstream, floor} {
		for _, revision := range []string{load.Sessions, load.Stateless} {
			c, err := load.Open(t.Context(), load.Endpoint{Address: address, Path: measure.UpstreamPath(2), Revision: revision, Tool: "echo"}, 1)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := c.Call(); err != nil {
					t.Errorf("%s, %s: %v", address, revision, err)
				}
			}
			if tools, _, err := c.List(); tools != 7 || err != nil {
				t.Errorf("List() = %d tools, %v, want 7", tools, err)
			}
			c.Close()
		}
		if _, err := load.Open(t.Context(), load.Endpoint{Address: address, Path: measure.UpstreamPath(3), Revision: load.Sessions, Tool: "echo"}, 1); err == nil {
			t.Error("Open of a missing server = nil error")
		}
	}
	cancel()
	for range 2 {
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// TestFloorServerKinds calls servers with https, event streams, large results and
// latency through the floor.
func TestFloorServerKinds(t *testing.T) {
	certificate, err := measure.NewCertificate(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(certificate.File, certificate.Key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(certificate.File)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(raw)
	secure := func(protocols ...string) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protocols, MinVersion: tls.VersionTLS12}
	}
	for name, u := range map[string]measure.Upstreams{
		"https":         {TLS: secure("http/1.1")},
		"HTTP/2":        {TLS: secure("h2", "http/1.1")},
		"event streams": {TLS: secure("http/1.1"), Events: true},
		"large results": {Padding: 64 << 10},
		"latency":       {Latency: time.Millisecond, Events: true, Padding: 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error, 2)
			u.Servers, u.Tools = 1, 1
			start := func(serve func(net.Listener, func(string)) error) string {
				listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				ready := make(chan string, 1)
				go func() { served <- serve(listener, func(url string) { ready <- url }) }()
				_, address, _ := strings.Cut(<-ready, "://")
				return address
			}
			upstream := start(func(l net.Listener, ready func(string)) error { return u.Serve(ctx, l, ready) })
			trusted := roots
			if u.TLS == nil {
				trusted = nil
			}
			floor := start(func(l net.Listener, ready func(string)) error {
				return measure.ServeFloor(ctx, l, upstream, trusted, ready)
			})
			e := load.Endpoint{Address: floor, Path: measure.UpstreamPath(0), Revision: load.Sessions, Tool: "echo", Padding: u.Padding}
			c, err := load.Open(t.Context(), e, 1)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := c.Call(); err != nil {
					t.Error(err)
				}
			}
			c.Close()
			e.Padding++
			if c, err = load.Open(t.Context(), e, 1); err != nil {
				t.Fatal(err)
			}
			if c.Call() == nil {
				t.Error("Call accepted a result without its padding")
			}
			c.Close()
			cancel()
			for range 2 {
				if err := <-served; err != nil {
					t.Error(err)
				}
			}
		})
	}
}
