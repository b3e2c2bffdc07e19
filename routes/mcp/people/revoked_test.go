package people_test

import (
	"testing"

	"mcpgateway/services/upstream/upstreamtest"
)

// TestRevokedEarly revokes the tokens of one person before they expire, in every
// revision of the server. One renewal fixes the call. When the tokens are
// revoked again, this very call prompts the person, and others can still call.
func TestRevokedEarly(t *testing.T) {
	t.Parallel()
	servers := map[string]*upstreamtest.EchoServer{}
	aliases := []string{"e0", "e1", "e2", "e3", "e4"}
	for i, era := range upstreamtest.AllEras() {
		servers[aliases[i]] = upstreamtest.NewEchoServer(era)
	}
	w := newWorld(t, "sqlite:"+t.TempDir()+"/gateway.db", "oauth", servers)
	ann, ben := w.client(t, "ann", handshake, opensURLs), w.client(t, "ben", stateless, opensURLs)
	for _, alias := range aliases {
		e := servers[alias]
		for _, name := range []string{"ann", "ben"} {
			w.Connect(t, w.ids[alias], w.people[name], name, name == "ben")
		}
		w.Sync(t, "p", alias)
		call := [2]string{"tools/call", `{"name":"` + alias + `__whoami","arguments":{}}`}
		want := func(what, token string) {
			t.Helper()
			if at, err := reached(send(t, ann, call)); err != nil || at.Token != token {
				t.Errorf("%s, %s: reached with %s, %v", alias, what, at.Token, err)
			}
		}
		want("connected", "ann-1")
		e.Revoke("ann", false)
		want("renewed", "ann-2")
		if n := e.Refreshes("ann"); n != 1 {
			t.Errorf("%s: %d refreshes", alias, n)
		}
		e.Revoke("ann", false)
		if got := errorOf(t, send(t, ann, call)); got.Code != -32042 || got.Data.Code != "CONNECTION_REQUIRED" {
			t.Errorf("%s: got %+v", alias, got)
		}
		e.ForgetRequests()
		if got := errorOf(t, send(t, ann, call)); got.Code != -32042 {
			t.Errorf("%s: again: %+v", alias, got)
		}
		for _, r := range e.ReachedBy("ann") {
			if r.Method == "tools/call" || r.Method == "initialize" {
				t.Errorf("%s: sent in the pause: %s", alias, r.Body)
			}
		}
		if n := e.Refreshes("ann"); n != 1 {
			t.Errorf("%s: %d refreshes", alias, n)
		}
		if at, err := reached(send(t, ben, call)); err != nil || at.Token != "ben-1" {
			t.Errorf("%s: ben reached with %s, %v", alias, at.Token, err)
		}
		w.Connect(t, w.ids[alias], w.people["ann"], "ann", false)
		want("connected again", "ann-3")
	}
}
