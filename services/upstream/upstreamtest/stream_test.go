package upstreamtest_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/upstream/upstreamtest"
)

func TestSessionStreamCarriesNotifications(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{})
	sid := session(t, url)
	get := pendingRequest{method: "GET", url: url, headers: []string{sid}}
	old := get.open(t)
	if err := s.WaitForStreams(within(t), 1); err != nil {
		t.Fatal(err)
	}
	e := get.open(t)
	if _, ok := old.next(); ok {
		t.Error("two streams of one session are open")
	}
	if err := s.WaitForStreams(within(t), 1); err != nil {
		t.Fatal(err)
	}
	if n := s.SetTools(upstreamtest.Echo()); n != 1 {
		t.Errorf("notified %d streams", n)
	}
	s.Notify("notifications/resources/updated", []byte(`{"uri":"a:b"}`))
	for _, want := range []string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:b"}}`} {
		if got := e.must(); got.name != "message" || got.data != want {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
	if n := s.CloseStreams(); n != 1 {
		t.Errorf("closed %d streams", n)
	}
	if _, ok := e.next(); ok {
		t.Error("stream did not end")
	}
	check(t, pendingRequest{url: url, body: ping, headers: []string{sid}}, 200, "", "")

	e = get.open(t)
	if err := s.WaitForStreams(within(t), 1); err != nil {
		t.Fatal(err)
	}
	s.DropSessions()
	if _, ok := e.next(); ok {
		t.Error("stream is open after its session")
	}
	if err := s.WaitForStreams(within(t), 0); err != nil {
		t.Error(err)
	}
}

func TestListenSendsOnlySubscriptions(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{})
	e := modern(url, "subscriptions/listen", "", `"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":["a:1","a:2"]}`).open(t)
	if err := s.WaitForStreams(within(t), 1); err != nil {
		t.Fatal(err)
	}
	const tag = `"_meta":{"io.modelcontextprotocol/subscriptionId":"m1"}`
	if got, want := e.must().data, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:1","a:2"]},`+tag+`}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, unwanted := range []struct{ method, params string }{
		{"notifications/prompts/list_changed", ""},
		{"notifications/resources/list_changed", ""},
		{"notifications/resources/updated", `{"uri":"a:3"}`},
		{"notifications/resources/updated", ""},
		{"notifications/message", `{}`},
	} {
		if n := s.Notify(unwanted.method, []byte(unwanted.params)); n != 0 {
			t.Errorf("%s %s was sent on %d streams", unwanted.method, unwanted.params, n)
		}
	}
	s.SetTools()
	s.Notify("notifications/resources/updated", []byte(`{"uri":"a:2"}`))
	s.CloseStreams()
	for _, want := range []string{
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{` + tag + `}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:2",` + tag + `}}`,
		`{"jsonrpc":"2.0","id":"m1","result":{"resultType":"complete",` + tag + `}}`,
	} {
		if got := e.must().data; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if _, ok := e.next(); ok {
		t.Error("stream did not end")
	}
	if s.Stats().Streams != 0 {
		t.Error("stream is still counted")
	}
}

func TestEmptyListenEndsAtOnce(t *testing.T) {
	_, url := serve(t, upstreamtest.Options{})
	e := modern(url, "subscriptions/listen", "", `"notifications":{}`).open(t)
	e.must()
	if got := e.must().data; !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("got %s", got)
	}
}

func TestHTTPSSERespondsOnStream(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{Tools: upstreamtest.Standard(6)})
	e := pendingRequest{method: "GET", url: url}.open(t)
	first := e.must()
	if first.name != "endpoint" || !strings.HasPrefix(first.data, "/mcp?sessionId=") {
		t.Fatalf("got %+v", first)
	}
	post := strings.TrimSuffix(url, "/mcp") + first.data
	send := func(body string, status int) {
		t.Helper()
		check(t, pendingRequest{url: post, body: body}, status, "", "")
	}
	send(initialize, 202)
	if got := e.must(); got.name != "message" || !strings.HasPrefix(got.data, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"`) {
		t.Errorf("got %+v", got)
	}
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202)
	id := strings.TrimPrefix(first.data, "/mcp?sessionId=")
	check(t, pendingRequest{url: url, body: ping, headers: []string{"Mcp-Session-Id: " + id}}, 404, "", "")
	_, streamable, _ := strings.Cut(session(t, url), ": ")
	check(t, pendingRequest{url: url + "?sessionId=" + streamable, body: ping}, 404, "", "")
	send(`{"jsonrpc":`, 400)
	send(`[`+ping+`]`, 400)
	send(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"progress","arguments":{"n":1},"_meta":{"progressToken":4}}}`, 202)
	for _, want := range []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":4,"progress":1,"total":1,"message":"step 1 of 1"}}`,
		`{"jsonrpc":"2.0","id":9,"result":{"content":[{"type":"text","text":"sent 1"}]}}`,
	} {
		if got := e.must().data; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}

	for _, tc := range []struct {
		fault upstreamtest.Fault
		want  string
	}{
		{upstreamtest.Fault{Kind: upstreamtest.InvalidJSON}, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"te`},
		{upstreamtest.Fault{Kind: upstreamtest.WrongID}, `{"jsonrpc":"2.0","id":3,"result":{}}`},
	} {
		s.SetFault(tc.fault)
		send(ping, 202)
		if got := e.must().data; got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
	s.SetFault(upstreamtest.Fault{Kind: upstreamtest.Status, Status: 418})
	send(ping, 418)
	s.SetFault(upstreamtest.Fault{Kind: upstreamtest.Hang, Times: 1})
	send(ping, 202)
	send(strings.Replace(ping, "2,", "22,", 1), 202)
	if got := e.must().data; got != `{"jsonrpc":"2.0","id":22,"result":{}}` {
		t.Errorf("got %s", got)
	}
	e.resp.Body.Close()
	if err := s.Wait(within(t), func() bool { return s.Stats().Sessions == 1 }); err != nil { // the other one
		t.Fatal("session is open after its stream")
	}
	send(ping, 404)
}

func TestResumableStreamDeliversMissed(t *testing.T) {
	release := make(chan struct{})
	s, url := serve(t, upstreamtest.Options{Resumable: true, Tools: []upstreamtest.Tool{{
		Definition: `{"name":"two","inputSchema":{"type":"object"}}`,
		Call: func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
			_ = c.Notify("notifications/message", []byte(`{"level":"info","data":1}`)) // the test checks what arrives
			<-release
			return upstreamtest.Text("done")
		},
	}}})
	sid := session(t, url)
	post := pendingRequest{url: url, body: call("two", "{}"), headers: []string{sid}}
	e := post.open(t)
	primer, message := e.must(), e.must()
	if primer.id != "1_0" || primer.data != "" || message.id != "1_1" {
		t.Fatalf("got %+v and %+v", primer, message)
	}
	e.resp.Body.Close()
	close(release)

	get := func(last string) pendingRequest {
		return pendingRequest{method: "GET", url: url, headers: []string{sid, "Last-Event-ID: " + last}}
	}
	const result = `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"done"}]}}`
	for last, want := range map[string][]string{"1_0": {message.data, result}, "1_1": {result}, "1_2": nil} {
		r := get(last).open(t)
		var got []string
		for ev, ok := r.next(); ok; ev, ok = r.next() {
			got = append(got, ev.data)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %s: %s", last, diff)
		}
	}
	for _, last := range []string{"9_0", "x", "1_x", "1_-1"} {
		check(t, get(last), 400, "", "")
	}

	s.SetFault(upstreamtest.Fault{On: upstreamtest.OnCall, Kind: upstreamtest.CutStream, Retry: 1500000000})
	e = post.open(t)
	if primer = e.must(); primer.retry != "1500" || primer.id != "2_0" {
		t.Errorf("got %+v", primer)
	}
	if ev, ok := e.next(); ok {
		t.Errorf("truncated stream continued with %+v", ev)
	}
	r := get("2_1").open(t)
	if got := r.must(); got.data != result || got.id != "2_2" {
		t.Errorf("got %+v", got)
	}
}

func TestRequestRecordLimit(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{Record: 3})
	sid := session(t, url)
	for _, id := range []string{"1", "2", "3"} {
		check(t, pendingRequest{url: url, body: strings.Replace(ping, "2,", id+",", 1), headers: []string{sid, "X-Test: " + id}}, 200, "", "")
	}
	got, err := s.WaitForRequests(within(t), "ping", 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"1", "2", "3"} {
		r := got[i]
		if string(r.ID) != want || r.Header.Get("X-Test") != want || r.HTTPMethod != http.MethodPost || r.Seq != int64(i+3) || !strings.Contains(string(r.Body), `"id":`+want) {
			t.Errorf("request %d = %+v", i, r)
		}
	}
	check(t, pendingRequest{method: "DELETE", url: url, headers: []string{sid}}, 204, "", "")
	if all := s.Requests(); len(all) != 3 || all[2].HTTPMethod != http.MethodDelete || string(all[0].ID) != "2" {
		t.Errorf("recorded %+v", all)
	}
	s.ForgetRequests()
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests remain", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.WaitForRequests(ctx, "ping", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait() = %v", err)
	}
}

func TestClosedServerRejectsRequests(t *testing.T) {
	s := upstreamtest.New(upstreamtest.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	url, err := s.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := pendingRequest{method: "GET", url: url, headers: []string{session(t, url)}}.open(t)
	cancel()
	if _, ok := e.next(); ok {
		t.Error("stream continued")
	}
	s.Close()
	if _, err := client(t).Get(url); err == nil {
		t.Error("listener is still open")
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "/mcp", strings.NewReader(initialize)))
	if w.Code != 503 {
		t.Errorf("got %d", w.Code)
	}
	if _, err := s.Listen(t.Context(), "127.0.0.1:0"); err == nil {
		t.Error("closed server listens")
	}
}

func TestCustomMethodsInBothEras(t *testing.T) {
	_, url := serve(t, upstreamtest.Options{
		Capabilities: `{"resources":{}}`,
		Methods: map[string]upstreamtest.Handler{
			"resources/read": func(_ context.Context, c *upstreamtest.Call) upstreamtest.Result {
				if c.Era.Stateless() != (c.Session == "") {
					return upstreamtest.Error(-1, "session and era disagree")
				}
				return upstreamtest.JSON(`{"contents":[ ]}`)
			},
			"gone": func(context.Context, *upstreamtest.Call) upstreamtest.Result {
				return upstreamtest.Error(-32601, "gone")
			},
			"asks": func(ctx context.Context, c *upstreamtest.Call) upstreamtest.Result {
				if _, err := c.Request(ctx, "roots/list", nil); err == nil {
					return upstreamtest.Text("a stateless client was asked")
				}
				return upstreamtest.JSON(`{"resultType":"input_required","_meta":{"a":1}}`)
			},
		},
	})
	check(t, pendingRequest{url: url, body: `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b"}}`, headers: []string{session(t, url)}}, 200, `"result":{"contents":[ ]}}`, "")
	check(t, modern(url, "resources/read", "a:b", `"uri":"a:b"`), 200, `"result":{"contents":[ ],"resultType":"complete","ttlMs":0,"cacheScope":"public","_meta":{`, "")
	check(t, modern(url, "resources/read", "a:c", `"uri":"a:b"`), 400, `-32020`, "")
	check(t, modern(url, "gone", "", ""), 404, `-32601`, "")
	check(t, modern(url, "asks", "", ""), 200, `"result":{"resultType":"input_required","_meta":{"a":1,"io.modelcontextprotocol/serverInfo"`, "")
}

func TestAnswerModesAndNotifications(t *testing.T) {
	s, url := serve(t, upstreamtest.Options{Tools: upstreamtest.Standard(5)})
	sid := session(t, url)
	const params = `{"name":"progress","arguments":{"n":%},"_meta":{"progressToken":"p"}}`
	for _, tc := range []struct {
		mode   upstreamtest.ResponseMode
		n      string
		kind   string
		events int
	}{
		{upstreamtest.AnswerAuto, "0", "application/json", 0},
		{upstreamtest.AnswerAuto, "2", "text/event-stream", 3},
		{upstreamtest.AnswerJSON, "2", "application/json", 0},
		{upstreamtest.AnswerSSE, "0", "text/event-stream", 1},
	} {
		s.SetAnswer(tc.mode)
		a := pendingRequest{url: url, body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + strings.Replace(params, "%", tc.n, 1) + `}`, headers: []string{sid}}.do(t)
		if got := a.header.Get("Content-Type"); got != tc.kind || strings.Count(a.body, "event: message\ndata: ") != tc.events || !strings.Contains(a.body, `"text":"sent `+tc.n+`"`) {
			t.Errorf("mode %d with %s notifications: %s: %s", tc.mode, tc.n, got, a.body)
		}
	}
}
