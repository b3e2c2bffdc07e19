package upstreamtest_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpgateway/services/upstream/upstreamtest"
)

const list = `{"jsonrpc":"2.0","id":5,"method":"tools/list"}`

func TestResponseFaults(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{Tools: upstreamtest.Standard(3)})
	sid := session(t, url)
	echo := pendingRequest{url: url, body: call("echo", `{"text":"x"}`), headers: []string{sid}}
	lists := pendingRequest{url: url, body: list, headers: []string{sid}}
	for _, tc := range []struct {
		name   string
		fault  upstreamtest.Fault
		x      pendingRequest
		status int
		body   string
		header string
	}{
		{"status", upstreamtest.Fault{Kind: upstreamtest.Status, Status: 503, Body: "busy", Header: http.Header{"Retry-After": {"9"}}}, echo, 503, "busy", "Retry-After: 9"},
		{"status elsewhere", upstreamtest.Fault{On: upstreamtest.OnList, Kind: upstreamtest.Status}, echo, 200, `"text":"x"`, ""},
		{"status on lists", upstreamtest.Fault{On: upstreamtest.OnList, Kind: upstreamtest.Status}, lists, 500, "", ""},
		{"status on one method", upstreamtest.Fault{On: "ping", Kind: upstreamtest.Status}, pendingRequest{url: url, body: ping, headers: []string{sid}}, 500, "", ""},
		{"status on initialize", upstreamtest.Fault{On: upstreamtest.OnInitialize, Kind: upstreamtest.Status}, pendingRequest{url: url, body: initialize}, 500, "", ""},
		{"status on discover", upstreamtest.Fault{On: upstreamtest.OnInitialize, Kind: upstreamtest.Status}, modern(url, "server/discover", "", ""), 500, "", ""},
		{"status on GET", upstreamtest.Fault{On: upstreamtest.OnStream, Kind: upstreamtest.Status, Status: 502}, pendingRequest{method: "GET", url: url, headers: []string{sid}}, 502, "", ""},
		{"status on DELETE", upstreamtest.Fault{On: upstreamtest.OnDelete, Kind: upstreamtest.Status, Status: 405}, pendingRequest{method: "DELETE", url: url, headers: []string{sid}}, 405, "", ""},
		{"status on notifications", upstreamtest.Fault{On: upstreamtest.OnNotification, Kind: upstreamtest.Status}, pendingRequest{url: url, body: `{"jsonrpc":"2.0","method":"x"}`, headers: []string{sid}}, 500, "", ""},
		{"redirect", upstreamtest.Fault{Kind: upstreamtest.Redirect, URL: "http://127.0.0.1:1/"}, echo, 307, "", "Location: http://127.0.0.1:1/"},
		{"redirect 302", upstreamtest.Fault{Kind: upstreamtest.Redirect, Status: 302, URL: "/x"}, echo, 302, "", "Location: /x"},
		{"raw", upstreamtest.Fault{Kind: upstreamtest.Raw, Body: `{"jsonrpc":"2.0","id":$ID,"result":"no object"}`}, echo, 200, `{"jsonrpc":"2.0","id":7,"result":"no object"}`, "Content-Type: application/json"},
		{"invalid JSON", upstreamtest.Fault{Kind: upstreamtest.InvalidJSON}, echo, 200, `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"te`, "Content-Type: application/json"},
		{"page", upstreamtest.Fault{Kind: upstreamtest.HTML}, echo, 200, "<html>", "Content-Type: text/html; charset=utf-8"},
		{"wrong ID", upstreamtest.Fault{Kind: upstreamtest.WrongID}, echo, 200, `"id":8,"result":{"content"`, ""},
		{"wrong string ID", upstreamtest.Fault{Kind: upstreamtest.WrongID}, modern(url, "tools/list", "", ""), 200, `"id":"m1-wrong"`, ""},
		{"wrong ID for initialize", upstreamtest.Fault{Kind: upstreamtest.WrongID}, pendingRequest{url: url, body: initialize}, 200, `"id":2,"result":{"protocolVersion"`, ""},
		{"error", upstreamtest.Fault{Kind: upstreamtest.JSONRPCError, Error: &upstreamtest.RPCError{Code: -5, Message: "a\"b", Data: []byte(`{"x":1}`)}}, echo, 200, `"error":{"code":-5,"message":"a\"b","data":{"x":1}}`, ""},
		{"error for initialize", upstreamtest.Fault{Kind: upstreamtest.JSONRPCError}, pendingRequest{url: url, body: initialize}, 200, `"error":{"code":-32603`, ""},
		{"repeated cursor", upstreamtest.Fault{Kind: upstreamtest.RepeatedCursor}, lists, 200, `"nextCursor":"again"`, ""},
		{"silent stream", upstreamtest.Fault{Kind: upstreamtest.SilentSSE}, echo, 200, "", "Content-Type: text/event-stream"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.SetFault(tc.fault)
			check(t, tc.x, tc.status, tc.body, tc.header)
		})
	}
	s.SetFault()
	check(t, echo, 200, `"text":"x"`, "")
}

func TestFaultFrequency(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	echo := pendingRequest{url: url, body: call("echo", `{"text":"x"}`), headers: []string{session(t, url)}}
	for _, tc := range []struct {
		name         string
		every, times int
		want         string // one letter per call
	}{
		{"each", 0, 0, "xxxxxx"},
		{"every third", 3, 0, "..x..x"},
		{"twice", 0, 2, "xx...."},
		{"every second, twice", 2, 2, ".x.x.."},
	} {
		s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Status, Every: tc.every, Times: tc.times})
		got := ""
		for range 6 {
			if echo.do(t).status == 500 {
				got += "x"
			} else {
				got += "."
			}
		}
		if got != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestEndlessPagesDiffer(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{})
	s.SetFault(upstreamtest.Fault{On: upstreamtest.OnList, Kind: upstreamtest.EndlessPages})
	sid := session(t, url)
	seen := map[string]bool{}
	cursor := ""
	for range 5 {
		a := pendingRequest{url: url, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"` + cursor + `"}}`, headers: []string{sid}}.do(t)
		var r struct {
			Result struct {
				Tools      []struct{ Name string }
				NextCursor string
			}
		}
		if err := json.Unmarshal([]byte(a.body), &r); err != nil || len(r.Result.Tools) != 1 {
			t.Fatalf("%v in %s", err, a.body)
		}
		cursor = r.Result.NextCursor
		if seen[cursor] || seen[r.Result.Tools[0].Name] {
			t.Fatalf("%s arrived before", a.body)
		}
		seen[cursor], seen[r.Result.Tools[0].Name] = true, true
	}
}

// failure returns the error of waiting for or reading the response.
func failure(t *testing.T, x pendingRequest) error {
	t.Helper()
	resp, err := client(t).Do(x.request(t))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return err
}

func TestConnectionFaults(t *testing.T) {
	for _, mode := range []upstreamtest.ResponseMode{upstreamtest.AnswerJSON, upstreamtest.AnswerSSE} {
		s, url := serve(t, upstreamtest.Options{Tools: upstreamtest.Standard(1), Answer: mode})
		for _, tc := range []struct {
			kind upstreamtest.FaultKind
			want error
		}{
			{upstreamtest.Reset, syscall.ECONNRESET},
			{upstreamtest.Disconnect, io.EOF},
			{upstreamtest.DropHalf, io.ErrUnexpectedEOF},
		} {
			s.SetFault()
			x := pendingRequest{url: url, body: call("echo", `{"text":"x"}`), headers: []string{session(t, url)}}
			s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: tc.kind})
			if err := failure(t, x); !errors.Is(err, tc.want) {
				t.Errorf("fault %d in mode %d: got %v, want %v", tc.kind, mode, err, tc.want)
			}
		}
	}
}

func TestHangEndsWithClient(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	sid := session(t, url)
	for _, tc := range []struct{ on, body string }{
		{upstreamtest.OnCall, call("echo", `{"text":"x"}`)},
		{upstreamtest.OnList, list},
		{upstreamtest.OnInitialize, initialize},
		{upstreamtest.OnAny, ping},
		{upstreamtest.OnAccept, ping},
	} {
		s.SetFault(upstreamtest.Fault{On: tc.on, Kind: upstreamtest.Hang})
		before := s.Stats().Requests
		r := pendingRequest{url: url, body: tc.body, headers: []string{sid}}.request(t)
		ctx, cancel := context.WithCancel(r.Context())
		failed := make(chan error, 1)
		c := client(t)
		go func() {
			resp, err := c.Do(r.WithContext(ctx))
			if err == nil {
				resp.Body.Close()
			}
			failed <- err
		}()
		if tc.on == upstreamtest.OnAccept {
			select {
			case err := <-failed:
				t.Errorf("unread connection ended: %v", err)
			case <-time.After(50 * time.Millisecond): // nothing must happen
			}
			if n := s.Stats().Requests; n != before {
				t.Errorf("held connection was read")
			}
		} else if err := s.Wait(within(t), func() bool { return s.Stats().Requests == before+1 }); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("on %s: got %v", tc.on, err)
		}
	}
	s.SetFault()
	check(t, pendingRequest{url: url, body: ping, headers: []string{sid}}, 200, "", "")
}

func TestLatencyDelaysResponse(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{})
	sid := session(t, url)
	s.SetFault(upstreamtest.Fault{Latency: 30 * time.Millisecond}, upstreamtest.Fault{On: "ping", Latency: 20 * time.Millisecond, Kind: upstreamtest.Status})
	start := time.Now()
	check(t, pendingRequest{url: url, body: ping, headers: []string{sid}}, 500, "", "")
	if d := time.Since(start); d < 50*time.Millisecond {
		t.Errorf("response after %v, want both delays", d)
	}
}

func TestHugeResponseSize(t *testing.T) {
	const size = 1 << 20
	for _, mode := range []upstreamtest.ResponseMode{upstreamtest.AnswerJSON, upstreamtest.AnswerSSE} {
		s, url := serve(t, upstreamtest.Options{Answer: mode})
		sid := session(t, url)
		s.SetFault(upstreamtest.Fault{Kind: upstreamtest.Huge, Bytes: size})
		for _, body := range []string{call("echo", `{"text":"x"}`), list, initialize} {
			a := pendingRequest{url: url, body: body, headers: []string{sid}}.do(t)
			message := a.body
			if mode == upstreamtest.AnswerSSE {
				message = strings.TrimSuffix(strings.TrimPrefix(message, "event: message\ndata: "), "\n\n")
			}
			if len(message) != size || !json.Valid([]byte(message)) {
				t.Errorf("mode %d: %.60s: %d bytes, valid: %t", mode, body, len(message), json.Valid([]byte(message)))
			}
		}
	}
}

func TestEndlessResponsesEndWithClient(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{Eras: upstreamtest.AllEras()[1:]})
	sid := session(t, url)
	for _, kind := range []upstreamtest.FaultKind{upstreamtest.Huge, upstreamtest.EndlessSSE} {
		s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: kind})
		resp, err := client(t).Do(pendingRequest{url: url, body: call("echo", `{"text":"x"}`), headers: []string{sid}}.request(t))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.CopyN(io.Discard, resp.Body, 4<<20)
		if n != 4<<20 || err != nil {
			t.Errorf("fault %d ended after %d bytes: %v", kind, n, err)
		}
		resp.Body.Close()
	}
}

func TestGzipIsSentUnrequested(t *testing.T) {
	for _, mode := range []upstreamtest.ResponseMode{upstreamtest.AnswerJSON, upstreamtest.AnswerSSE} {
		s, url := serve(t, upstreamtest.Options{Tools: upstreamtest.Standard(1), Answer: mode})
		echo := pendingRequest{url: url, body: call("echo", `{"text":"x"}`), headers: []string{session(t, url)}}
		inflate := func(a answer) string {
			t.Helper()
			if a.header.Get("Content-Encoding") != "gzip" {
				t.Fatalf("not compressed: %v", a.header)
			}
			z, err := gzip.NewReader(strings.NewReader(a.body))
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Gzip})
		if got := inflate(echo.do(t)); !strings.Contains(got, `"text":"x"`) {
			t.Errorf("got %q", got)
		}
		s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.Gzip, Bytes: 4 << 20})
		bomb := echo.do(t)
		if got := inflate(bomb); len(got) < 4<<20 || len(bomb.body) > 128<<10 {
			t.Errorf("%d bytes inflate to %d", len(bomb.body), len(got))
		}
	}
}
