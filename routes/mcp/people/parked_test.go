package people_test

import (
	"context"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestParkedCallOfAnotherPerson continues a call of one person as another one,
// with questions of servers with and without sessions.
func TestParkedCallOfAnotherPerson(t *testing.T) {
	t.Parallel()
	for _, era := range []upstreamtest.Era{upstreamtest.Era20251125, upstreamtest.Era20260728} {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			w, e := oneServer(t, era)
			w.connect(t, "ann")
			w.connect(t, "ben")
			const asks = `{"elicitation":{"form":{}}}`
			ann, ben := w.client(t, "ann", stateless, asks), w.client(t, "ben", stateless, asks)
			m := send(t, ann, [2]string{"tools/call", `{"name":"echo__asks","arguments":{}}`})
			name, state := inputOf(m)
			if !strings.Contains(string(m.Result), "Are you ann?") {
				t.Fatalf("got %s%s", m.Result, m.Error)
			}
			answer := `{"name":"echo__asks","arguments":{},"requestState":` + state + `,"inputResponses":{"` + name + `":{"action":"accept","content":{"i":"me"}}}}`
			m = send(t, ben, [2]string{"tools/call", answer})
			if era == upstreamtest.Era20251125 && m.Error == nil {
				t.Errorf("ben continued ann's call: %s", m.Result)
			}
			if at, err := reached(m); err == nil && at.Person != "ben" {
				t.Errorf("ben's request reached the server as %s", at.Person)
			}
			m = send(t, ann, [2]string{"tools/call", answer})
			if at, err := reached(m); err != nil || at.Person != "ann" || !strings.Contains(textOf(m), `"i":"me"`) {
				t.Errorf("ann: %+v, %v", at, err)
			}
			if shared := e.Shared(); len(shared) > 0 {
				t.Errorf("sessions of several people: %v", e.People())
			}
		})
	}
}

// TestCancelledCallIsTheirs cancels the call of one person. The same request of
// another person continues until its own cancellation.
func TestCancelledCallIsTheirs(t *testing.T) {
	t.Parallel()
	w, e := oneServer(t, upstreamtest.Era20251125)
	ended := map[string]chan error{}
	for _, name := range []string{"ann", "ben"} {
		w.connect(t, name)
		ended[name] = make(chan error, 1)
	}
	ann, ben := w.client(t, "ann", handshake, `{}`), w.client(t, "ben", handshake, `{}`)
	for name, c := range map[string]*routestest.Client{"ann": ann, "ben": ben} {
		go func() { // both requests have id 2
			_, err := c.Call(context.WithoutCancel(t.Context()), "echo__waits", `{}`)
			ended[name] <- err
		}()
	}
	if err := e.Wait(t.Context(), func() bool { return len(e.Requests("tools/call")) == 2 }); err != nil {
		t.Fatal(err)
	}
	if err := ann.Cancel(t.Context(), "2"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended["ann"]; err != nil {
		t.Log("the cancelled call ended:", err)
	}
	sent, err := e.WaitForRequests(t.Context(), "notifications/cancelled", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range sent {
		if !strings.Contains(r.Header.Get("Authorization"), "-of-ann-") {
			t.Errorf("cancelled with the token of somebody else: %s", r.Body)
		}
	}
	select {
	case err := <-ended["ben"]:
		t.Errorf("the other person's call ended: %v", err)
	default:
	}
	if err := ben.Cancel(t.Context(), "2"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended["ben"]; err != nil {
		t.Log("the cancelled call ended:", err)
	}
}

// TestLogLevelIsTheirs sets the level of one person. It reaches the server in
// that person's sessions only.
func TestLogLevelIsTheirs(t *testing.T) {
	t.Parallel()
	w, e := oneServer(t, upstreamtest.Era20250618)
	levels := map[string]string{"ann": "debug", "ben": "critical"}
	for name, level := range levels {
		w.connect(t, name)
		c := w.client(t, name, handshake, `{}`)
		for _, r := range [][2]string{{"logging/setLevel", `{"level":"` + level + `"}`}, {"tools/call", `{"name":"echo__steps","arguments":{}}`}} {
			if m := send(t, c, r); m.Result == nil {
				t.Fatalf("%s: %s", r[0], m.Error)
			}
		}
	}
	sent := e.Requests("logging/setLevel")
	for _, r := range sent {
		for name, level := range levels {
			if strings.Contains(r.Header.Get("Authorization"), "-of-"+name+"-") && !strings.Contains(string(r.Body), level) {
				t.Errorf("the level of another person was sent for %s: %s", name, r.Body)
			}
		}
	}
	if len(sent) < 2 {
		t.Errorf("%d levels sent", len(sent))
	}
}
