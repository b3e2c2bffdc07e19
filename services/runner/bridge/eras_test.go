//go:build linux || darwin

package bridge_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/egress"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
	"mcpgateway/services/upstream/upstreamtest"
)

// newPool returns the client of the gateway and its target.
func newPool(t testing.TB, url string) (*pool.Pool, *upstream.Target) {
	t.Helper()
	clients := egress.NewClients(egress.NewGuard(egress.DefaultAllow(true)))
	p := pool.New(clients.MCP(), "1.2.3")
	t.Cleanup(func() {
		p.Close()
		clients.Close()
	})
	return p, &upstream.Target{ServerID: "srv", Alias: "x", URL: url, Version: 1, Transport: models.TransportAuto, Timeout: 30 * time.Second}
}

// TestErasThroughPool uses programs of each revision with the gateway's client.
func TestErasThroughPool(t *testing.T) {
	t.Parallel()
	for _, eras := range [][]upstreamtest.Era{{upstreamtest.Era20241105}, {upstreamtest.Era20250326}, {upstreamtest.Era20250618}, {upstreamtest.Era20251125}, {upstreamtest.Era20260728}, upstreamtest.AllEras()} {
		t.Run(fmt.Sprint(eras), func(t *testing.T) {
			t.Parallel()
			h := hostOf(t, upstreamtest.New(upstreamtest.Options{Eras: eras, Tools: upstreamtest.Standard(6)}))
			p, to := newPool(t, h.listen(t))
			about, err := p.Describe(t.Context(), to)
			if err != nil {
				t.Fatal(err)
			}
			newest := eras[len(eras)-1]
			if about.ProtocolVersion != string(newest) {
				t.Errorf("revision %s", about.ProtocolVersion)
			}
			if tools, _, _, err := p.ListTools(t.Context(), to); err != nil || len(tools) != 6 {
				t.Errorf("%d tools, %v", len(tools), err)
			}
			for range 2 {
				resp, err := p.Call(t.Context(), to, &upstream.Request{Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{"text":"hi"}}`)})
				if err != nil || !strings.Contains(string(resp.Result), `"hi"`) {
					t.Errorf("call: %+v, %v", resp, err)
				}
			}
			want := 2 // sessions with the gateway's capabilities and with none
			if newest.Stateless() {
				want = 1
			}
			if n := h.starts(); n != want {
				t.Errorf("%d processes, want %d", n, want)
			}
		})
	}
}

// lineProgram returns a program that handles each line of its input.
func lineProgram(handle func(line string, write func(string)) (over bool)) serve {
	return func(ctx context.Context, in io.Reader, out io.Writer) string {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 20<<20)
		for lines.Scan() {
			if handle(lines.Text(), func(s string) { _, _ = io.WriteString(out, s+"\n") }) {
				return "exit code 3"
			}
		}
		return "exit code 0"
	}
}

// respond responds to the request in a line.
func respond(line string, write func(string), result string) {
	id := line[strings.Index(line, `"id":`)+5:]
	write(`{"jsonrpc":"2.0","id":` + id[:strings.IndexAny(id, ",}")] + `,"result":` + result + `}`)
}

// shake responds to initialize.
func shake(line string, write func(string)) bool {
	if !strings.Contains(line, `"method":"initialize"`) {
		return false
	}
	respond(line, write, `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"l","version":"1"}}`)
	return true
}

// probeLag is the time after the response to initialize in which that to
// server/discover counts.
const probeLag = 100 * time.Millisecond

func TestProbe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		run    func() serve
		starts int
		after  time.Duration
	}{
		{"silent", func() serve {
			return lineProgram(func(line string, write func(string)) bool {
				if !shake(line, write) {
					write("listening")
				}
				return false
			})
		}, 1, 10*time.Second + probeLag},
		{"without output", func() serve {
			return lineProgram(func(line string, write func(string)) bool { shake(line, write); return false })
		}, 1, 50*time.Second + probeLag},
		{"dies", func() serve {
			return lineProgram(func(line string, write func(string)) bool {
				shake(line, write)
				return strings.Contains(line, "server/discover")
			})
		}, 2, 0},
		{"error", func() serve {
			return lineProgram(func(line string, write func(string)) bool {
				if !shake(line, write) && strings.Contains(line, `"id":1`) {
					write(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`)
				}
				return false
			})
		}, 1, 0},
		{"garbage", func() serve {
			return lineProgram(func(line string, write func(string)) bool {
				write("garbage\n{\"jsonrpc\":\"2.0\"}\n[]")
				if !shake(line, write) && strings.Contains(line, `"id":1`) {
					write(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"not initialized"}}`)
				}
				return false
			})
		}, 1, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, c.run())
				began := time.Now()
				process, err := h.acquire(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				process.Release()
				if took := time.Since(began); took != c.after {
					t.Errorf("took %s, want %s", took, c.after)
				}
				if n := h.starts(); n != c.starts {
					t.Errorf("%d processes, want %d", n, c.starts)
				}
				again, err := h.acquire(t.Context(), "") // the era is kept
				if err != nil || time.Since(began) != c.after {
					t.Errorf("again: after %s, %v", time.Since(began), err)
				}
				again.Release()
			})
		})
	}
}

// TestDiscoverOfHandshake checks the refusal of discovery, after which the gateway
// initializes at once.
func TestDiscoverOfHandshake(t *testing.T) {
	t.Parallel()
	h := hostOf(t, upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{upstreamtest.Era20250618}}))
	c := stateless(t, h.listen(t))
	for range 2 {
		r := c.post(c.message(1, "server/discover", "{}"))
		if r.status != http.StatusBadRequest || r.last().Error == nil || r.last().Error.Code != -32022 {
			t.Errorf("HTTP %d, %+v", r.status, r.last())
		}
	}
	if h.starts() != 1 {
		t.Errorf("%d processes", h.starts())
	}
	connect(t, c.url, "{}")
	if h.starts() != 2 { // the first one has the capabilities of the gateway
		t.Errorf("%d processes", h.starts())
	}
}

// TestSlowStartKeepsTheEra starts programs that read nothing for longer than the
// silence after which they also get initialize.
func TestSlowStartKeepsTheEra(t *testing.T) {
	t.Parallel()
	const start = 30 * time.Second
	modern := func(line string, write func(string)) {
		if strings.Contains(line, "server/discover") {
			respond(line, write, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"l","version":"1"}}`)
		}
	}
	for _, c := range []struct {
		what   string
		lag    time.Duration // of the response to server/discover, which comes first without
		starts int           // for a second caller without a session
		after  time.Duration
	}{
		{"discover first", 0, 1, start},
		{"discover at the limit", probeLag - 1, 1, start + probeLag - 1},
		{"discover after the limit", probeLag + 1, 2, start + probeLag},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				started := false
				h := newHost(t, lineProgram(func(line string, write func(string)) bool {
					if !started {
						started = true
						write("starting")
						time.Sleep(start)
					}
					switch {
					case shake(line, write) || c.lag == 0:
						modern(line, write)
					default:
						time.AfterFunc(c.lag, func() { modern(line, write) })
					}
					return false
				}))
				began := time.Now()
				process, err := h.acquire(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				process.Release()
				if took := time.Since(began); took != c.after {
					t.Errorf("took %s, want %s", took, c.after)
				}
				synctest.Wait()
				again, err := h.acquire(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				again.Release()
				if n := h.starts(); n != c.starts {
					t.Errorf("%d processes, want %d", n, c.starts)
				}
			})
		})
	}
}
