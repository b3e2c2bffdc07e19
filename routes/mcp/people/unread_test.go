package people_test

import (
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// TestToolsThatWereNeverRead calls a tool of a server to which no person has
// connected, so that its tools are unknown. The call prompts its person, and
// succeeds after that.
func TestToolsThatWereNeverRead(t *testing.T) {
	t.Parallel()
	for version, read := range map[string]bool{handshake: true, stateless: false, "while the call waits": true} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			e := upstreamtest.NewEchoServer()
			w := newWorld(t, "sqlite:"+t.TempDir()+"/gateway.db", "bearer", map[string]*upstreamtest.EchoServer{"echo": e})
			routestest.Eventually(t, "a failed sync", func() bool {
				p, err := w.Services.Directory.Project("p")
				return err == nil && p.Server("echo").Inventory != nil && p.Server("echo").Inventory.ErrorCode != ""
			})
			version := map[bool]string{true: handshake, false: stateless}[version == handshake]
			c := w.client(t, "ann", version, opensURLs)
			for _, r := range [][2]string{needing()[0], needing()[3]} {
				m := send(t, c, r)
				if version == handshake {
					got := errorOf(t, m)
					if got.Code != -32042 || len(got.Data.Elicitations) != 1 {
						t.Fatalf("%v: %s", r, m.Error)
					}
					w.wantLink(t, got.Data.Elicitations[0].URL, "ann")
					continue
				}
				w.wantLink(t, linkIn(m), "ann")
				_, state := inputOf(m)
				w.wantFailedResult(t, send(t, c, [2]string{r[0], inputParams(r, state, "decline")}), "ann")
				if !read {
					w.connect(t, "ann")
					read = true
					m = send(t, c, [2]string{r[0], inputParams(r, state, "accept")})
					if at, err := reached(m); err != nil || at.Person != "ann" {
						t.Errorf("continued: %+v, %v", at, err)
					}
					return
				}
				done := make(chan routestest.Message, 1)
				go func() {
					m, _ := c.Send(t.Context(), r[0], inputParams(r, state, "accept")) // an empty message fails below
					done <- m
				}()
				w.connect(t, "ann")
				if at, err := reached(<-done); err != nil || at.Person != "ann" {
					t.Errorf("continued: %+v, %v", at, err)
				}
				return
			}
			w.wantLink(t, strings.TrimSuffix(pendingLink(t, send(t, c, [2]string{"tools/list", `{}`})), "."), "ann")
			wantNothingSent(t, e)
			w.connect(t, "ann")
			routestest.Eventually(t, "the tools are read", func() bool { _, err := reached(send(t, c, needing()[0])); return err == nil })
		})
	}
}

// pendingLink returns the link in the coverage of a list.
func pendingLink(t *testing.T, m routestest.Message) string {
	t.Helper()
	_, after, found := strings.Cut(string(m.Result), "Connect it at ")
	link, _, _ := strings.Cut(after, `"`)
	if !found {
		t.Fatalf("no link in %s", m.Result)
	}
	return link
}
