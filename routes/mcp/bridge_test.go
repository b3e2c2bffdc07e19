package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// steppingTools report progress in different ways.
func steppingTools() []upstreamtest.Tool {
	tool := func(name string, call upstreamtest.Handler) upstreamtest.Tool {
		return upstreamtest.Tool{Definition: `{"name":"` + name + `","inputSchema":{"type":"object"}}`, Call: call}
	}
	return []upstreamtest.Tool{
		tool("steps", func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
			var args struct{ N int }
			if c.Arguments != nil {
				if err := json.Unmarshal(c.Arguments, &args); err != nil {
					return upstreamtest.Failure(err.Error())
				}
			}
			for i := range args.N {
				if err := c.Progress(float64(i+1), float64(args.N), ""); err != nil {
					return upstreamtest.Failure(err.Error())
				}
			}
			return upstreamtest.JSON("{\"content\":[],\n \"n\":9007199254740993}")
		}),
		tool("spoken", func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
			_ = c.Notify("notifications/message", []byte(`{"level":"info","data":"not progress"}`))
			if err := c.Progress(0.5, -1, "half \"way\"\nthere"); err != nil {
				return upstreamtest.Failure(err.Error())
			}
			_ = c.Progress(1, -1, "")
			return upstreamtest.Text("done")
		}),
		tool("fails", func(context.Context, *upstreamtest.Call) upstreamtest.Result { return upstreamtest.Failure("broken") }),
		tool("refuses", func(context.Context, *upstreamtest.Call) upstreamtest.Result {
			return upstreamtest.Error(-32050, "no")
		}),
		tool("hidden", nil),
	}
}

// TestBridgeStreamsCalls sends the requests in testdata/bridge/calls.txtar.
func TestBridgeStreamsCalls(t *testing.T) {
	const file = "testdata/bridge/calls.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, openProject, nil)
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: steppingTools()})
	s.Apply(t, `{"projects":{"p":{"mcpServers":{"up":{"url":"`+up.Start(t)+`","denyTools":["hidden"]}}}}}`)
	s.Sync(t, "p", "up")
	var got bytes.Buffer
	for _, line := range lines(&archive.Files[0]) {
		method, rest, _ := strings.Cut(line, " ")
		r := request{method: method, path: "sse"}
		if method == "GET" {
			r.path += "?" + rest
		} else {
			r.body = rest
		}
		resp := s.do(t, r)
		var body bytes.Buffer
		if _, err := body.ReadFrom(resp.Body); err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK && resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: got %s", line, resp.Header.Get("Content-Type"))
		}
		fmt.Fprintf(&got, "%d %s\n", resp.StatusCode, line)
		for l := range strings.SplitSeq(strings.TrimRight(body.String(), "\n"), "\n") {
			if l = routestest.Normalise(l); l != "" {
				fmt.Fprintf(&got, "    %s\n", l)
			}
		}
		if resp.StatusCode == http.StatusOK && !strings.HasSuffix(body.String(), "\n\ndata: [DONE]\n\n") {
			t.Errorf("%s: stream doesn't end with [DONE]: %q", line, body.String())
		}
	}
	if *update {
		archive.Files[1].Data = got.Bytes()
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(archive.Files[1].Data), got.String()); d != "" {
		t.Errorf("responses (-want +got):\n%s", d)
	}
}

func TestBridgeDisconnectCancelsCall(t *testing.T) {
	for name, first := range map[string]func(*call){"at once": nil, "after progress": func(c *call) { c.progress(1) }} {
		t.Run(name, func(t *testing.T) {
			began, cancelled, release := newGate(), newGate(), newGate()
			s := serve(t, openProject, plays(began, cancelled, release, first))
			defer release.open()
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			s.stream(t, request{path: "sse", body: toolCall, conn: ctx})
			began.wait(t, "the call began")
			leave()
			cancelled.wait(t, "the call was cancelled")
		})
	}
}

func TestBridgeChecksCaller(t *testing.T) {
	s := serve(t, `{"projects":{"p":{"authMode":"api_key"}}}`, nil)
	_, text := s.Key(t, "p", time.Hour)
	auth := "Bearer " + text
	for _, c := range []struct {
		name   string
		r      request
		status int
		header string // required in the response
	}{
		{"no key", request{path: "sse", body: toolCall}, 401, "WWW-Authenticate"},
		{"no key on GET", request{path: "sse?name=a"}, 401, "WWW-Authenticate"},
		{"unknown project", request{path: "../q/sse", body: toolCall, header: header("Authorization", auth)}, 404, ""},
		{"not JSON", request{path: "sse", body: toolCall, header: header("Authorization", auth, "Content-Type", "text/plain")}, 415, ""},
		{"other method", request{method: "PUT", path: "sse", header: header("Authorization", auth)}, 405, "Allow"},
		{"no call and no stream", request{path: "sse", header: header("Authorization", auth, "Accept", "application/json")}, 406, ""},
		{"no call, any Accept", request{path: "sse", header: header("Authorization", auth, "Accept", "*/*")}, 406, ""},
		{"unknown session id", request{path: "sse?sessionId=x", body: toolCall, header: header("Authorization", auth)}, 404, ""},
		{"an image on another site", request{path: "sse?name=a", header: header("Authorization", auth, "Sec-Fetch-Site", "cross-site")}, 403, ""},
		{"a link on a same-site page", request{path: "sse?name=a", header: header("Authorization", auth, "Sec-Fetch-Site", "same-site")}, 403, ""},
		{"a typed address", request{path: "sse?name=a", header: header("Authorization", auth, "Sec-Fetch-Site", "none")}, 200, ""},
		{"a script of an allowed origin", request{path: "sse?name=a", header: header("Authorization", auth, "Sec-Fetch-Site", "cross-site", "Origin", "https://app.example.com")}, 200, ""},
		{"another site", request{path: "sse", body: toolCall, header: header("Authorization", auth, "Origin", "https://evil.example")}, 403, ""},
	} {
		status, h, body := s.get(t, c.r)
		if status != c.status || c.header != "" && h.Get(c.header) == "" {
			t.Errorf("%s: %d, %s %q: %s", c.name, status, c.header, h.Get(c.header), body)
		}
	}
	conn := s.dial(t)
	if _, err := io.WriteString(conn, "POST /v1/mcp/p/sse HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("large body: got status %d, want 413", resp.StatusCode)
	}
}
