package upstreamtest_test

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	"mcpgateway/services/upstream/upstreamtest"
)

func TestControl(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(3)})
	t.Cleanup(s.Close)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url, err := s.Serve(t.Context(), ln, s.Control())
	if err != nil {
		t.Fatal(err)
	}
	base := strings.TrimSuffix(url, "/mcp")
	sid := session(t, url)
	control := func(query string, status int) {
		t.Helper()
		check(t, pendingRequest{url: base + "/control?" + query}, status, "", "")
	}
	lists := pendingRequest{url: url, body: list, headers: []string{sid}}
	echo := pendingRequest{url: url, body: call("echo", `{"text":"x"}`), headers: []string{sid}}

	control("tools=1&answer=sse", 204)
	check(t, lists, 200, `"tools":[{"name":"echo"`, "Content-Type: text/event-stream")
	control("tools=2&page=1&answer=json", 204)
	check(t, lists, 200, `"nextCursor":"`, "Content-Type: application/json")
	control("status=503&every=2", 204)
	check(t, echo, 200, "", "")
	check(t, echo, 503, "", "")
	control("latency=0s", 204)
	check(t, echo, 200, "", "")
	check(t, echo, 200, "", "")
	for _, wrong := range []string{"tools=-1", "tools=x", "page=1000001", "answer=xml", "latency=5", "hang=never", "status=99", "every=x", "drop=all", "color=red", "tools=9&color=red"} {
		control(wrong, 400)
	}
	check(t, pendingRequest{url: base + "/control?tools=9", headers: []string{"Origin: https://evil.example"}}, 403, "", "")
	control("page=0", 204)
	check(t, lists, 200, `"tools":[{"name":"echo"`, "")
	if n := strings.Count(lists.do(t).body, `"name":`); n != 2 {
		t.Errorf("rejected request changed the tools to %d", n)
	}
	var stats upstreamtest.Stats
	if err := json.Unmarshal([]byte(pendingRequest{method: "GET", url: base + "/stats"}.do(t).body), &stats); err != nil || stats.Calls != 3 || stats.Sessions != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
	control("drop=streams", 204)
	control("drop=sessions", 204)
	check(t, echo, 404, "", "")
	check(t, pendingRequest{method: "GET", url: base + "/control"}, 405, "", "")
}

func TestParseSettings(t *testing.T) {
	for in, want := range map[string]string{
		"all": "2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28", "stateless": "2026-07-28", "sse": "2024-11-05",
		"2025-06-18, 2099-01-01": "2025-06-18 2099-01-01", "": "", "2025": "", "all,x": "",
	} {
		var got []string
		eras, err := upstreamtest.ParseEras(in)
		for _, e := range eras {
			got = append(got, string(e))
		}
		if strings.Join(got, " ") != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %v, %v", in, got, err)
		}
	}
	for in, want := range map[string]upstreamtest.ResponseMode{"auto": upstreamtest.AnswerAuto, "json": upstreamtest.AnswerJSON, "sse": upstreamtest.AnswerSSE} {
		if got, err := upstreamtest.ParseAnswer(in); got != want || err != nil {
			t.Errorf("%q: got %v, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{"any": upstreamtest.OnAny, "accept": upstreamtest.OnAccept, "list": upstreamtest.OnList} {
		if got, err := upstreamtest.ParseHang(in); got.On != want || got.Kind != upstreamtest.Hang || err != nil {
			t.Errorf("%q: got %v, %v", in, got, err)
		}
	}
}

func BenchmarkEcho(b *testing.B) {
	s := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(10), Record: -1, Sessionless: true})
	defer s.Close()
	body := call("echo", `{"text":"01234567890123456789012345678901"}`)
	b.ReportAllocs()
	for b.Loop() {
		w := discard{h: map[string][]string{}}
		r := newPost(body)
		s.ServeHTTP(&w, r)
		if w.status != 200 {
			b.Fatal(w.status)
		}
	}
}
