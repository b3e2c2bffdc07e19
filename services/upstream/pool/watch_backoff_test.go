package pool_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/pool"
)

func TestWatchStopsWithoutStream(t *testing.T) {
	for name, status := range map[string]int{"405": 405, "404": 404, "400": 400, "406": 406, "501": 501, "not a stream": 200, "nothing": 204} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &counting{seen: map[string]int{}}
				up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodGet {
						c.count("GET")
						w.Header().Set("Content-Type", "text/html")
						w.WriteHeader(status)
						return
					}
					c.ServeHTTP(w, r)
				})
				p := pool.New(&http.Client{Transport: inProcess{up}}, "1")
				defer p.Close()
				to := target("http://quiet.example/mcp")
				startWatch(t, p, to)
				for range 100 {
					time.Sleep(10 * time.Minute)
					if _, err := p.Call(t.Context(), to, &upstream.Request{Method: "x/y"}); err != nil {
						t.Fatal(err)
					}
				}
				// The client session is in use. The watch's session is idle and is closed.
				if seen := c.now(); seen["GET"] != 1 || seen["initialize"] != 2 || seen["DELETE"] != 1 {
					t.Errorf("in 1,000 minutes: %v", seen)
				}
				time.Sleep(time.Hour)
				if seen := c.now(); seen["DELETE"] != 2 {
					t.Errorf("session was not closed: %v", seen)
				}
				if _, err := p.Describe(t.Context(), to); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if seen := c.now(); seen["GET"] != 2 || seen["initialize"] != 3 {
					t.Errorf("after a new session: %v, want one GET", seen)
				}
			})
		})
	}
}

func TestWatchStopsWithoutStatelessStream(t *testing.T) {
	for name, tc := range map[string]struct {
		capabilities, answer string
		status, requests     int
	}{
		"unknown method":      {`{"tools":{"listChanged":true}}`, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`, 404, 1},
		"unknown with 200":    {`{"tools":{"listChanged":true}}`, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`, 200, 1},
		"not allowed":         {`{"tools":{"listChanged":true}}`, `no`, 405, 1},
		"nothing to announce": {`{"tools":{},"resources":{"listChanged":false}}`, ``, 200, 0},
		"agrees to nothing": {`{"tools":{"listChanged":true}}`, "event: message\ndata: " +
			`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}` + "\n\nevent: message\ndata: " +
			`{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete"}}` + "\n\n", 200, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &counting{seen: map[string]int{}}
				up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					m := received(r)
					c.count(m.Method)
					switch m.Method {
					case "server/discover":
						writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":`+tc.capabilities+`}}`)
					case "subscriptions/listen":
						w.Header().Set("Content-Type", "application/json")
						if strings.HasPrefix(tc.answer, "event") {
							w.Header().Set("Content-Type", "text/event-stream")
						}
						w.WriteHeader(tc.status)
						_, _ = io.WriteString(w, strings.ReplaceAll(tc.answer, "$ID", string(m.ID)))
					default:
						writeJSON(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"resultType":"complete","tools":[]}}`)
					}
				})
				p := pool.New(&http.Client{Transport: inProcess{up}}, "1")
				defer p.Close()
				to := target("http://quiet.example/mcp")
				startWatch(t, p, to)
				for range 100 { // each renews the upstream's description
					time.Sleep(10 * time.Minute)
					if _, _, _, err := p.ListTools(t.Context(), to); err != nil {
						t.Fatal(err)
					}
				}
				if seen := c.now(); seen["subscriptions/listen"] != tc.requests {
					t.Errorf("in 1,000 minutes: %v", seen)
				}
			})
		})
	}
}

func TestWatchBacksOff(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"failure": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"rejected credentials": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
		},
		"immediate end": func(w http.ResponseWriter, _ *http.Request) { writeEvents(w, "") },
		"invalid data": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			writeEvents(w, "data: x\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var mu sync.Mutex
				var requests []time.Duration
				c := &counting{seen: map[string]int{}}
				up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodGet {
						c.ServeHTTP(w, r)
						return
					}
					mu.Lock()
					requests = append(requests, time.Since(start))
					mu.Unlock()
					answer(w, r)
				})
				p := pool.New(&http.Client{Transport: inProcess{up}}, "1")
				defer p.Close()
				startWatch(t, p, target("http://busy.example/mcp"))
				time.Sleep(time.Hour)
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
					if d := requests[i+1] - requests[i]; d < want*time.Second*8/10 || d > want*time.Second*12/10 {
						t.Errorf("attempt %d after %s, want about %d s", i+2, d, want)
					}
				}
				if n := len(requests); n < 50 || n > 80 {
					t.Errorf("%d requests in an hour", n)
				}
				if seen := c.now(); seen["initialize"] != 1 {
					t.Errorf("failing stream closed the session: %v", seen)
				}
			})
		})
	}
}

func TestWatchBacksOffIfDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		requests := 0
		up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			requests++
			w.WriteHeader(http.StatusBadGateway)
		})
		p := pool.New(&http.Client{Transport: inProcess{up}}, "1")
		defer p.Close()
		startWatch(t, p, target("http://down.example/mcp"))
		time.Sleep(time.Hour)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if requests < 100 || requests > 160 { // two requests per attempt: the probe and the handshake
			t.Errorf("%d requests in an hour", requests)
		}
	})
}
