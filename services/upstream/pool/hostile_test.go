package pool_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/fault"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/upstreamtest"
)

func TestCallFaults(t *testing.T) {
	const (
		unavailable  = fault.CodeUpstreamUnavailable
		unauthorized = fault.CodeUpstreamUnauthorized
		invalid      = fault.CodeUpstreamInvalidResponse
	)
	status := func(code int, header ...string) upstreamtest.Fault {
		f := upstreamtest.Fault{Kind: upstreamtest.Status, Status: code, Header: http.Header{}}
		for i := 0; i < len(header); i += 2 {
			f.Header.Set(header[i], header[i+1])
		}
		return f
	}
	raw := func(body string) upstreamtest.Fault { return upstreamtest.Fault{Kind: upstreamtest.Raw, Body: body} }
	for _, tc := range []struct {
		name  string
		fault upstreamtest.Fault
		code  fault.Code
		text  []string
	}{
		{"401", status(401), unauthorized, []string{"401", "Check its configured credentials"}},
		{"403", status(403), unauthorized, []string{"403", "permissions"}},
		{"404", status(404), unavailable, []string{"404", "URL"}},
		{"405", status(405), unavailable, []string{"405"}},
		{"400", status(400), invalid, []string{"400"}},
		{"413", status(413), invalid, []string{"413"}},
		{"429", status(429), unavailable, []string{"429"}},
		{"500", status(500), unavailable, []string{"500"}},
		{"503", status(503), unavailable, []string{"503"}},
		{"redirect", upstreamtest.Fault{Kind: upstreamtest.Redirect, URL: "http://elsewhere.example/x?sesame"}, unavailable, []string{"elsewhere.example", "not followed"}},
		{"redirect to nowhere", status(302), unavailable, []string{"redirect"}},
		{"202 without response", status(202), invalid, []string{"202"}},
		{"reset", upstreamtest.Fault{Kind: upstreamtest.Reset}, unavailable, nil},
		{"closed", upstreamtest.Fault{Kind: upstreamtest.Disconnect}, unavailable, []string{"closed the connection"}},
		{"half a response", upstreamtest.Fault{Kind: upstreamtest.DropHalf}, unavailable, []string{"during its response"}},
		{"HTML", upstreamtest.Fault{Kind: upstreamtest.HTML}, invalid, []string{"text/html"}},
		{"broken JSON", upstreamtest.Fault{Kind: upstreamtest.InvalidJSON}, invalid, []string{"invalid JSON-RPC"}},
		{"another ID", upstreamtest.Fault{Kind: upstreamtest.WrongID}, invalid, []string{"different request"}},
		{"gzip", upstreamtest.Fault{Kind: upstreamtest.Gzip}, invalid, []string{"gzip"}},
		{"gzip bomb", upstreamtest.Fault{Kind: upstreamtest.Gzip, Bytes: 1 << 30}, invalid, []string{"gzip"}},
		{"endless", upstreamtest.Fault{Kind: upstreamtest.Huge}, invalid, []string{"10 MiB"}},
		{"silent stream", upstreamtest.Fault{Kind: upstreamtest.SilentSSE}, unavailable, []string{"before the result"}},
		{"no content type", upstreamtest.Fault{Kind: upstreamtest.Raw, Body: "x", Header: http.Header{"Content-Type": {""}}}, invalid, nil},
		{"empty", raw(""), invalid, nil},
		{"no JSON-RPC", raw(`{"hello":1}`), invalid, []string{"invalid JSON-RPC", `{"hello":1}`}},
		{"no version", raw(`{"id":$ID,"result":{}}`), invalid, nil},
		{"neither result nor error", raw(`{"jsonrpc":"2.0","id":$ID}`), invalid, nil},
		{"both result and error", raw(`{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1}}`), invalid, nil},
		{"result not an object", raw(`{"jsonrpc":"2.0","id":$ID,"result":[1]}`), invalid, nil},
		{"error not an object", raw(`{"jsonrpc":"2.0","id":$ID,"error":"x"}`), invalid, nil},
		{"string ID", raw(`{"jsonrpc":"2.0","id":"$ID","result":{}}`), invalid, []string{"different request"}},
		{"request as response", raw(`{"jsonrpc":"2.0","id":$ID,"method":"roots/list"}`), invalid, nil},
		{"two values", raw(`{"jsonrpc":"2.0","id":$ID,"result":{}} {}`), invalid, nil},
		{"not UTF-8", raw("{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"a\":\"\xff\"}}"), invalid, nil},
		{"control characters", raw("\x1b[31m\x00\r\nevil" + strings.Repeat("\u00e9", 500)), invalid, []string{"evil"}},
		{"nested", raw(strings.Repeat("[", 100_000)), invalid, nil},
	} {
		for _, era := range []upstreamtest.Era{upstreamtest.Era20251125, upstreamtest.Era20260728} {
			t.Run(tc.name+"/"+string(era), func(t *testing.T) {
				s := upstreamtest.New(upstreamtest.Options{Eras: []upstreamtest.Era{era}, Tools: upstreamtest.Standard(1)})
				p, to := newPool(t), target(s.Start(t)+"?key=sesame")
				mustCall(t, p, to, echo("well"))
				tc.fault.On = upstreamtest.OnCall
				s.SetFault(tc.fault)
				_, err := p.Call(testContext(t), to, echo("x"))
				wantFault(t, err, tc.code, append(tc.text, `"jira"`, "127.0.0.1")...)
				h := p.Health("srv")
				if h.OK() || h.ConsecutiveFailures != 1 || h.LastCode != tc.code || h.LastMessage == "" || h.LastSuccess.IsZero() {
					t.Errorf("Health() = %+v", h)
				}
				s.SetFault()
				mustCall(t, p, to, echo("again"))
				if h := p.Health("srv"); !h.OK() {
					t.Errorf("Health() after success = %+v", h)
				}
			})
		}
	}
}

func TestRetryAfterIsForwarded(t *testing.T) {
	for value, want := range map[string]time.Duration{"7": 7 * time.Second, "0": 0, "-1": 0, "soon": 0, "86400": 24 * time.Hour, "86401": 0} {
		s := upstreamtest.New(upstreamtest.Options{})
		to, p := target(s.Start(t)), newPool(t)
		s.SetFault(upstreamtest.Fault{Kind: upstreamtest.Status, Status: 503, Header: http.Header{"Retry-After": {value}}})
		_, err := p.Describe(testContext(t), to)
		var f *fault.Fault
		if !errors.As(err, &f) || f.RetryAfter != want {
			t.Errorf("Retry-After %s: RetryAfter = %v (%v)", value, f.RetryAfter, err)
		}
	}
}

func TestUnreachableUpstreams(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + ln.Addr().String() + "/mcp?key=sesame"
	_ = ln.Close()
	for _, tc := range []struct{ name, url, text string }{
		{"nothing listens", closed, "connection refused"},
		{"no such name", "http://no-such-host.invalid/mcp?key=sesame", "host name"},
		{"no URL", "sesame", "invalid URL"},
		{"no host", "http:///sesame", "invalid URL"},
		{"another scheme", "ftp://127.0.0.1/sesame", "invalid URL"},
		{"control characters", "http://127.0.0.1/\x7fsesame", "invalid URL"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPool(t)
			_, err := p.Call(testContext(t), target(tc.url), echo("x"))
			wantFault(t, err, fault.CodeUpstreamUnavailable, tc.text)
			if h := p.Health("srv"); h.ConsecutiveFailures != 1 {
				t.Errorf("Health() = %+v", h)
			}
		})
	}
}

func TestChallengeIsCause(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Token: "right", Challenge: `Bearer resource_metadata="http://x/y"`})
	to := target(s.Start(t))
	to.Headers = bearer("wrong")
	_, err := newPool(t).Describe(testContext(t), to)
	wantFault(t, err, fault.CodeUpstreamUnauthorized)
	var c *upstream.Challenge
	if !errors.As(err, &c) || c.Status != 401 || len(c.WWWAuthenticate) != 1 || !strings.Contains(c.WWWAuthenticate[0], "resource_metadata") {
		t.Errorf("got %+v", c)
	}
}

// sized returns a JSON-RPC response of n bytes.
func sized(id []byte, n int) string {
	head, tail := `{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"x":"`, `"}}`
	return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
}

// TestUpstreamCaps checks that an upstream cannot exceed the limits of size and
// time.
func TestUpstreamCaps(t *testing.T) {
	t.Run("response", answersAreBounded)
	t.Run("other message", otherMessagesAreBounded)
	t.Run("compressed response", nothingIsInflated)
	t.Run("call duration", callsEndInTime)
}

// nothingIsInflated sends a 1 GiB response as 1 MiB of gzip.
func nothingIsInflated(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	p, to := newPool(t), target(s.Start(t))
	mustCall(t, p, to, echo("warm"))
	s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Gzip, Bytes: 1 << 30})
	_, err := p.Call(testContext(t), to, echo("x"))
	wantFault(t, err, fault.CodeUpstreamInvalidResponse, "gzip")
}

// callsEndInTime calls upstreams that never respond or never finish.
func callsEndInTime(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"no answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"half an answer": func(w http.ResponseWriter, r *http.Request) {
			writeJSON(w, `{"jsonrpc":"2.0",`)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"half an event": func(w http.ResponseWriter, r *http.Request) {
			writeEvents(w, "data: {")
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := handmade(t, "2025-11-25", func(w http.ResponseWriter, r *http.Request, m rpc) {
				if m.Method == "tools/call" {
					answer(w, r)
				}
			})
			_, err := newPool(t).Call(testContext(t), target(url, within(200*time.Millisecond)), echo("x"))
			wantFault(t, err, fault.CodeUpstreamTimeout)
		})
	}
}

func answersAreBounded(t *testing.T) {
	const limit = 10 << 20
	ways := map[string]func(w http.ResponseWriter, body string){
		"length": func(w http.ResponseWriter, body string) {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			writeJSON(w, body)
		},
		"no length": func(w http.ResponseWriter, body string) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, body)
		},
		"one event": func(w http.ResponseWriter, body string) { writeEvents(w, "data:"+body+"\n\n") },
		"event lines": func(w http.ResponseWriter, body string) {
			writeEvents(w, "data:"+body[:1]+"\ndata:"+body[1:]+"\n\n")
		},
	}
	// Field names count toward the size of an event.
	overhead := map[string]int{"one event": len("data:"), "event lines": 2 * len("data:")}
	for name, write := range ways {
		t.Run(name, func(t *testing.T) {
			size, sent := 0, ""
			url := handmade(t, "2025-11-25", func(w http.ResponseWriter, _ *http.Request, m rpc) {
				if m.Method == "tools/call" {
					sent = sized(m.ID, size-overhead[name])
					write(w, sent)
				}
			})
			p, to := newPool(t), target(url)
			for _, size = range []int{limit - 1, limit} {
				resp := mustCall(t, p, to, echo("x"))
				if !strings.HasSuffix(sent, string(resp.Result)+"}") || len(resp.Result) < size-100 {
					t.Errorf("result has %d bytes, want %d", len(resp.Result), len(sent))
				}
			}
			size = limit + 1
			_, err := p.Call(testContext(t), to, echo("x"))
			wantFault(t, err, fault.CodeUpstreamInvalidResponse, "10 MiB")
		})
	}
}

func otherMessagesAreBounded(t *testing.T) {
	const limit = 1 << 20
	for _, size := range []int{limit - 1, limit, limit + 1} {
		head, tail := `{"jsonrpc":"2.0","method":"notifications/message","params":{"x":"`, `"}}`
		note := head + strings.Repeat("x", size-len(head)-len(tail)) + tail
		url := handmade(t, "2025-11-25", func(w http.ResponseWriter, _ *http.Request, m rpc) {
			writeEvents(w, "data: "+note+"\n\ndata: "+`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}`+"\n\n")
		})
		var got []byte
		r := echo("x")
		r.Notify = func(_ string, params []byte) { got = params }
		_, err := newPool(t).Call(testContext(t), target(url), r)
		if size <= limit {
			if err != nil || len(got) == 0 {
				t.Errorf("%d bytes: %v, %d bytes received", size, err, len(got))
			}
			continue
		}
		wantFault(t, err, fault.CodeUpstreamInvalidResponse, "1 MiB")
	}
}

func TestEventStreams(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":$ID,"result":{"a":1}}`
	for _, tc := range []struct{ name, stream, want string }{
		{"plain", "data: " + answer + "\n\n", `{"a":1}`},
		{"no space", "data:" + answer + "\n\n", `{"a":1}`},
		{"CRLF", "data: " + answer + "\r\n\r\n", `{"a":1}`},
		{"CR", "data: " + answer + "\r\r", `{"a":1}`},
		{"CR and comments", ": hi\r\revent: message\rdata: " + answer + "\r\r", `{"a":1}`},
		{"byte order mark", "\xEF\xBB\xBFdata: " + answer + "\n\n", `{"a":1}`},
		{"several lines", "data: {\"jsonrpc\":\"2.0\",\ndata:\ndata: \"id\":$ID,\ndata:  \"result\":{\ndata: }}\n\n", "{\n}"},
		{"comments", ":\n: keep-alive\n\n:\ndata: " + answer + "\n:x\n\n", `{"a":1}`},
		{"named message", "event: message\ndata: " + answer + "\n\n", `{"a":1}`},
		{"other events first", "event: ping\ndata: {}\n\nevent\ndata: " + answer + "\n\n", `{"a":1}`},
		{"unknown fields", "foo: bar\nfoo\nid: 7\nretry: 9\nretry: x\ndata: " + answer + "\n\n", `{"a":1}`},
		{"ID without data first", "id: 0\ndata:\n\nid: 1\n\ndata: " + answer + "\n\n", `{"a":1}`},
		{"batch", "data: [{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}," + answer + "]\n\n", `{"a":1}`},
		{"data after response", "data: " + answer + "\n\ndata: rubbish\n\n", `{"a":1}`},
		{"incomplete event", "data: " + answer + "\n", ""},
		{"invalid data", "data: rubbish\n\n", ""},
		{"nested batch", "data: [[" + answer + "]]\n\n", ""},
		{"empty", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, step := range []int{1, 7, 1 << 20} {
				url := handmade(t, "2025-11-25", func(w http.ResponseWriter, _ *http.Request, m rpc) {
					stream := strings.ReplaceAll(tc.stream, "$ID", string(m.ID))
					writeEvents(w, "")
					for i := 0; i < len(stream); i += step {
						_, _ = io.WriteString(w, stream[i:min(i+step, len(stream))])
						w.(http.Flusher).Flush()
					}
				})
				resp, err := newPool(t).Call(testContext(t), target(url), echo("x"))
				switch {
				case tc.want == "" && err == nil:
					t.Errorf("Call() with stream %q = %s", tc.stream, resp.Result)
				case tc.want != "" && (err != nil || !bytes.Equal(resp.Result, []byte(tc.want))):
					t.Errorf("in steps of %d: %v", step, err)
				}
			}
		})
	}
}

func TestBatchOfOneResponse(t *testing.T) {
	url := handmade(t, "2025-03-26", func(w http.ResponseWriter, _ *http.Request, m rpc) {
		writeJSON(w, `[{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{}}]`)
	})
	if resp := mustCall(t, newPool(t), target(url), echo("x")); string(resp.Result) != "{}" {
		t.Errorf("got %s", resp.Result)
	}
}

func TestStatelessServerRequestIsInvalid(t *testing.T) {
	url := handmade(t, "2026-07-28", func(w http.ResponseWriter, _ *http.Request, _ rpc) {
		writeEvents(w, "data: "+`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`+"\n\n")
	})
	_, err := newPool(t).Call(testContext(t), target(url), echo("x"))
	wantFault(t, err, fault.CodeUpstreamInvalidResponse, "roots/list", "forbids")
}

func TestUpstreamErrorsAreResponses(t *testing.T) {
	for _, tc := range []struct {
		name, revision, contentType, body string
		status                            int
	}{
		{"200", "2025-11-25", "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"m","data":{"x":1e400}}}`, 200},
		{"explicit null error", "2025-11-25", "application/json", `{"jsonrpc":"2.0","id":$ID,"result":{"ok":1},"error":null}`, 200},
		{"no ID", "2025-11-25", "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, 200},
		{"404 with request ID", "2025-11-25", "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"m"}}`, 404},
		{"stateless 404", "2026-07-28", "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"m"}}`, 404},
		{"stateless 400", "2026-07-28", "application/json", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32021,"message":"m","data":{"requiredCapabilities":{}}}}`, 400},
		{"stateless without ID", "2026-07-28", "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"m"}}`, 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls := 0
			url := handmade(t, tc.revision, func(w http.ResponseWriter, _ *http.Request, m rpc) {
				calls++
				w.Header().Set("Content-Type", tc.contentType)
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, strings.ReplaceAll(tc.body, "$ID", string(m.ID)))
			})
			p := newPool(t)
			resp, err := p.Call(testContext(t), target(url), echo("x"))
			if err != nil {
				t.Fatal(err)
			}
			if part := append(resp.Result, resp.Error...); !strings.Contains(tc.body, string(part)) || len(part) == 0 || resp.Result != nil && resp.Error != nil {
				t.Errorf("got result %s, error %s", resp.Result, resp.Error)
			}
			if calls != 1 || !p.Health("srv").OK() {
				t.Errorf("%d calls, health %+v", calls, p.Health("srv"))
			}
		})
	}
}
