package people_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/upstream/upstreamtest"
)

// listMethods are the methods that reading the inventory may send.
var listMethods = []string{
	"initialize", "notifications/initialized", "server/discover", "ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
}

// TestInventoryOfPeople reads the lists with the first person who allows it, and
// after that person's account ended with the next one. Without any, the stored
// inventory stays. Nothing but lists is read, and without calls no stream is
// open.
func TestInventoryOfPeople(t *testing.T) {
	t.Parallel()
	for _, era := range upstreamtest.AllEras() {
		t.Run(string(era), func(t *testing.T) {
			t.Parallel()
			e := upstreamtest.NewEchoServer(era)
			w := newWorld(t, "sqlite:"+t.TempDir()+"/gateway.db", "bearer", map[string]*upstreamtest.EchoServer{"echo": e})
			id := w.ids["echo"]
			for _, p := range []struct {
				name    string
				allowed bool
			}{{"ann", false}, {"ben", true}, {"cy", true}} { // ann connected first, without the tick
				w.EnterToken(t, e, id, w.people[p.name], p.name, p.allowed)
			}
			w.Sync(t, "p", "echo")
			w.wantReader(t, e, "ben", 1, era == upstreamtest.Era20241105)
			w.end(t, "ben")
			w.Sync(t, "p", "echo")
			w.wantReader(t, e, "cy", 2, era == upstreamtest.Era20241105)
			w.end(t, "cy")
			e.ForgetRequests()
			if _, err := w.Services.Syncer.Sync(t.Context(), id); err == nil {
				t.Error("synced without anybody's account")
			}
			wantNothingSent(t, e)
			m := send(t, w.client(t, "ann", stateless, `{}`), [2]string{"tools/list", `{}`})
			if strings.Count(string(m.Result), `"name":"echo__`) != 4 {
				t.Errorf("the stored inventory is gone: %s%s", m.Result, m.Error)
			}
			wantNothingSent(t, e)
		})
	}
}

// wantReader checks with whose account the lists were read since the last call,
// and how often the reader changed. Over HTTP+SSE, a session is a stream.
func (w *world) wantReader(t *testing.T, e *upstreamtest.EchoServer, name string, changes int64, overSSE bool) {
	t.Helper()
	for _, r := range e.Requests() {
		method := r.Method
		if m := (routestest.Message{}); method == "" && json.Unmarshal(r.Body, &m) == nil {
			method = m.Method // of another transport
		}
		if r.HTTPMethod == "POST" && !slices.Contains(listMethods, method) {
			t.Errorf("reading the lists sent %s %s", r.HTTPMethod, r.Body)
		}
	}
	for _, other := range []string{"ann", "ben", "cy"} {
		if sent := len(e.ReachedBy(other)); (sent > 0) != (other == name) {
			t.Errorf("%d requests as %s, want those of %s only", sent, other, name)
		}
	}
	if n := e.StreamsOf(name); n > 0 && !overSSE {
		t.Errorf("%d streams without use", n)
	}
	var row models.Server
	var changed int64
	db := w.Services.DB
	if err := db.First(&row, "id = ?", w.ids["echo"]).Error; err != nil || row.InventoryUserID != w.people[name] {
		t.Errorf("inventory of %s, %v", row.InventoryUserID, err)
	}
	routestest.Eventually(t, "the change is recorded", func() bool {
		err := db.Model(&models.AuditEntry{}).Where("action = 'connection.inventory_changed'").Count(&changed).Error
		return err != nil || changed == changes
	})
	e.ForgetRequests()
}

// end ends a person's account at the server echo.
func (w *world) end(t *testing.T, name string) {
	t.Helper()
	if _, err := w.Services.Connections.Disconnect(t.Context(), w.ids["echo"], w.people[name]); err != nil {
		t.Fatal(err)
	}
}
