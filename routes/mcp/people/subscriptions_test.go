package people_test

import (
	"strings"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestUpdatesReachTheirPerson subscribes two people to the same resource, at
// servers of every revision and with both kinds of clients. An update in the
// session of one reaches that person only. When one disconnects, the other's
// subscription continues.
func TestUpdatesReachTheirPerson(t *testing.T) {
	t.Parallel()
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			w, e := oneServer(t, era)
			for _, name := range []string{"ann", "ben", "cy"} {
				if n := e.StreamsOf(name); n > 0 && era != upstreamtest.Era20241105 { // there, a session is a stream
					t.Errorf("%d streams of %s before use", n, name)
				}
			}
			streams := map[string][]<-chan routestest.Message{}
			for _, name := range []string{"ann", "ben"} {
				w.connect(t, name)
				streams[name] = w.subscribed(t, name)
			}
			if n := e.StreamsOf("cy"); n > 0 && era != upstreamtest.Era20241105 {
				t.Errorf("%d streams of somebody who subscribed to nothing", n)
			}
			for i, name := range []string{"ann", "ben", "ben", "ann"} {
				uri := "echo://who"
				routestest.Eventually(t, "the stream of "+name, func() bool { return e.Update(name, uri) > 0 })
				for _, heard := range streams[name] {
					wantUpdate(t, heard, uri)
				}
				quiet(t, streams[map[string]string{"ann": "ben", "ben": "ann"}[name]], i)
			}
			if _, err := w.Services.Connections.Disconnect(t.Context(), w.ids["echo"], w.people["ann"]); err != nil {
				t.Fatal(err)
			}
			routestest.Eventually(t, "the streams of ann end", func() bool { return e.StreamsOf("ann") == 0 })
			routestest.Eventually(t, "the stream of ben", func() bool { return e.Update("ben", "echo://who") > 0 })
			for _, heard := range streams["ben"] {
				wantUpdate(t, heard, "echo://who")
			}
			quiet(t, streams["ann"], 9)
			if shared := e.Shared(); len(shared) > 0 {
				t.Errorf("sessions of several people: %v", e.People())
			}
		})
	}
}

// subscribed subscribes a person's clients of both kinds to the resource and
// returns their streams.
func (w *world) subscribed(t *testing.T, name string) []<-chan routestest.Message {
	t.Helper()
	session := w.client(t, name, handshake, `{}`)
	first := session.Listen(t, "")
	if m := send(t, session, [2]string{"resources/subscribe", `{"uri":"echo://who"}`}); m.Result == nil {
		t.Fatalf("%s: subscribe: %s", name, m.Error)
	}
	second := w.client(t, name, stateless, `{}`).Listen(t, `{"resourceSubscriptions":["echo://who"]}`)
	if m := receive(t, second); m.Method != "notifications/subscriptions/acknowledged" || !strings.Contains(string(m.Params), "echo://who") {
		t.Fatalf("%s: %s %s", name, m.Method, m.Params)
	}
	return []<-chan routestest.Message{first, second}
}

func receive(t *testing.T, heard <-chan routestest.Message) routestest.Message {
	t.Helper()
	select {
	case m := <-heard:
		return m
	case <-time.After(20 * time.Second):
		t.Fatal("nothing heard")
		return routestest.Message{}
	}
}

func wantUpdate(t *testing.T, heard <-chan routestest.Message, uri string) {
	t.Helper()
	if m := receive(t, heard); m.Method != "notifications/resources/updated" || !strings.Contains(string(m.Params), uri) {
		t.Errorf("heard %s %s", m.Method, m.Params)
	}
}

// quiet checks that streams have received nothing.
func quiet(t *testing.T, streams []<-chan routestest.Message, at int) {
	t.Helper()
	for i, heard := range streams {
		select {
		case m := <-heard:
			t.Errorf("update %d: stream %d of the other person heard %s %s", at, i, m.Method, m.Params)
		default:
		}
	}
}

// TestConnectionOfAnotherReplica continues a call at one replica after the person
// connected at another one. Disconnecting there ends the account here within 1 s.
func TestConnectionOfAnotherReplica(t *testing.T) {
	t.Parallel()
	e := upstreamtest.NewEchoServer()
	dsn := modelstest.Postgres(t)
	w := newWorld(t, dsn, "bearer", map[string]*upstreamtest.EchoServer{"echo": e})
	w.EnterToken(t, e, w.ids["echo"], w.people["cy"], "cy", true)
	w.Sync(t, "p", "echo")
	second := routestest.New(t, dsn)
	key := w.PersonalKey(t, "p", w.people["ann"])
	base := second.Serve(t)
	w.synced(t, []string{base}, []string{key, key})
	c := (&routestest.Client{Endpoint: base + "/v1/mcp/p/request", Token: key, Version: stateless, Capabilities: opensURLs}).Open(t)
	r := needing()[0]
	m := send(t, c, r)
	_, state := inputOf(m)
	w.wantLink(t, linkIn(m), "ann")
	done := make(chan routestest.Message, 1)
	go func() {
		m, _ := c.Send(t.Context(), r[0], inputParams(r, state, "accept")) // an empty message fails below
		done <- m
	}()
	w.connect(t, "ann") // at the first replica
	if at, err := reached(<-done); err != nil || at.Token != "ann-1" {
		t.Errorf("reached with %s, %v", at.Token, err)
	}
	if _, err := w.Services.Connections.Disconnect(t.Context(), w.ids["echo"], w.people["ann"]); err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	routestest.Eventually(t, "the second replica ends the account", func() bool { name, _ := inputOf(send(t, c, r)); return name == "connect" })
	if d := time.Since(from); d > 5*time.Second { // 1 s is guaranteed; the machine may be busy
		t.Errorf("the second replica used the account for %s", d)
	}
}
