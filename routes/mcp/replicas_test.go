package mcp_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

const (
	listTools   = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	changeLimit = time.Second // the maximum delay of a change in other replicas
	grantRounds = 3
	accessOfP   = "/api/projects/p/access"
	staleCursor = `"code":"CURSOR_STALE"`
)

// replicas are two replicas on one PostgreSQL database, with a person who has a
// personal key and the toolset writer.
type replicas struct {
	one, two *server
	person   string
	key      string
}

func newReplicas(t *testing.T) *replicas {
	t.Helper()
	dsn := modelstest.Postgres(t)
	options := offering("docs", "", "read", "find", "erase")
	options.Capabilities, options.Methods = `{"tools":{}}`, nil // every change is one of tools only
	up := upstreamtest.New(options).Start(t)
	w := &replicas{}
	w.one = serveOn(t, dsn, fmt.Sprintf(`{"projects":{"p":{"authMode":"api_key","personalKeys":{"enabled":true},"mcpServers":{"docs":{"url":%q}},
		"toolsets":{"reader":{"include":["docs__*"],"exclude":["docs__erase"]},"writer":{"include":["docs__erase"]}}}}}`, up), nil)
	w.one.Sync(t, "p", "docs")
	w.two = serveOn(t, dsn, "", nil)
	_, err := w.one.Services.People.Create(t.Context(), access.NewUser{Email: "ada@example.com", Role: models.RoleAdmin, Password: secrets.NewValue("a pass phrase of these tests only")})
	noError(t, err)
	user, err := w.one.Services.People.Create(t.Context(), access.NewUser{Email: "ann@example.com", Role: models.RoleMember})
	noError(t, err)
	w.person = user.ID
	w.grant(t, "writer")
	_, key, err := w.one.Services.Own.CreateKey(t.Context(), user.ID, "p", keys.Attributes{Name: "laptop", Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	w.key = key.Reveal()
	return w
}

// administer sends a request of an administrator to replica 1.
func (w *replicas) administer(t *testing.T, method, path, body string, status int) string {
	t.Helper()
	a := webtest.Send(t, w.one.App.App, webtest.Case{Method: method, Path: path, Body: body, Header: header("Authorization", "Bearer "+routestest.AdminToken)})
	if a.Status != status {
		t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Body)
	}
	return a.Body
}

// grant grants the person a toolset at replica 1 and returns the grant's URL.
func (w *replicas) grant(t *testing.T, toolset string) (url string) {
	t.Helper()
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(w.administer(t, "POST", accessOfP, `{"personId":"`+w.person+`","toolset":"`+toolset+`"}`, 201)), &made); err != nil {
		t.Fatal(err)
	}
	return accessOfP + "/" + made.ID
}

// sees returns the tools that replica 2 lists, or the status of a refusal.
func (w *replicas) sees(t *testing.T) string {
	t.Helper()
	status, _, body := w.two.get(t, request{body: listTools, header: legacyHeader("Authorization", "Bearer "+w.key)})
	if status != 200 {
		return fmt.Sprint(status)
	}
	return toolNames(t, body)
}

// search searches at a replica, and returns the body and its cursor.
func (w *replicas) search(t *testing.T, at *server, cursor string) (body, next string) {
	t.Helper()
	if cursor != "" {
		cursor = `,"cursor":"` + cursor + `"`
	}
	_, _, body = at.get(t, request{
		body:   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gateway_searchMcpForTask","arguments":{"query":"docs","limit":1` + cursor + `}}}`,
		header: legacyHeader("Authorization", "Bearer "+w.key),
	})
	if found := regexp.MustCompile(`"nextCursor":"([^"]+)"`).FindStringSubmatch(body); found != nil {
		next = found[1]
	}
	return body, next
}

// streams opens a stream of each kind at replica 2.
func (w *replicas) streams(t *testing.T) []*events {
	t.Helper()
	bearer := "Bearer " + w.key
	session := w.two.session(t, "Authorization", bearer)
	all := []*events{
		w.two.stream(t, request{header: header("Accept", "text/event-stream", "Mcp-Session-Id", session, "Authorization", bearer)}),
		w.two.stream(t, request{body: listenRequest, header: modernHeader("subscriptions/listen", "Authorization", bearer)}),
		w.two.stream(t, request{path: "sse", header: header("Accept", "text/event-stream", "Authorization", bearer)}),
	}
	all[1].next()  // acknowledged
	all[2].block() // the endpoint
	return all
}

// change changes what the person holds at replica 1, and waits until replica 2
// lists the tools. It returns the delay.
func (w *replicas) change(t *testing.T, want string, do func()) time.Duration {
	t.Helper()
	do()
	began := time.Now()
	routestest.Eventually(t, "replica 2 lists "+want, func() bool { return w.sees(t) == want })
	return time.Since(began)
}

// TestGrantReachesOtherReplica grants and removes a toolset at one replica while
// streams are open at another.
func TestGrantReachesOtherReplica(t *testing.T) {
	w := newReplicas(t)
	w.change(t, "docs__erase", func() {})
	streams := w.streams(t)
	told := func() {
		t.Helper()
		for _, stream := range streams {
			if got := stream.next(); !strings.Contains(got, `"method":"notifications/tools/list_changed"`) {
				t.Errorf("next message %q, want a changed list", got)
			}
		}
	}
	var delays []time.Duration
	for range grantRounds {
		var grant string
		delays = append(delays, w.change(t, "docs__erase docs__find docs__read", func() { grant = w.grant(t, "reader") }))
		told()
		_, cursor := w.search(t, w.one, "")
		if body, _ := w.search(t, w.two, cursor); cursor == "" || !strings.Contains(body, `"results"`) {
			t.Fatalf("cursor %q of replica 1 at 2: %s", cursor, body)
		}
		delays = append(delays, w.change(t, "docs__erase", func() { w.administer(t, "DELETE", grant, "", 204) }))
		told()
		for _, replica := range []*server{w.one, w.two} {
			if body, _ := w.search(t, replica, cursor); !strings.Contains(body, staleCursor) {
				t.Errorf("cursor of the larger view: %s", body)
			}
		}
	}
	delays = append(delays, w.otherChanges(t, told)...)
	var grants struct{ Items []struct{ ID string } }
	if err := json.Unmarshal([]byte(w.administer(t, "GET", accessOfP, "", 200)), &grants); err != nil || len(grants.Items) != 1 {
		t.Fatalf("%v: %+v", err, grants)
	}
	delays = append(delays, w.change(t, "401", func() { w.administer(t, "DELETE", accessOfP+"/"+grants.Items[0].ID, "", 204) }))
	began := time.Now()
	for _, stream := range streams {
		if got := stream.next(); got != "" {
			t.Errorf("message %q after the last grant", got)
		}
	}
	delays = append(delays, time.Since(began))
	w.grant(t, "writer")
	delays = append(delays, w.change(t, "docs__erase", func() {}))
	delays = append(delays, w.change(t, "401", func() { w.administer(t, "PATCH", "/api/people/"+w.person, `{"disabled":true}`, 200) }))
	slices.Sort(delays)
	if median := delays[len(delays)/2]; median > changeLimit { // single ones may be slow on a busy machine
		t.Errorf("delays %v, want at most %s", delays, changeLimit)
	}
}

// otherChanges changes what the person holds by a group, a role and the rules of
// a toolset, and returns the delays.
func (w *replicas) otherChanges(t *testing.T, told func()) (delays []time.Duration) {
	t.Helper()
	var group struct{ ID string }
	if err := json.Unmarshal([]byte(w.administer(t, "POST", "/api/groups", `{"name":"Engineering"}`, 201)), &group); err != nil {
		t.Fatal(err)
	}
	w.administer(t, "POST", accessOfP, `{"groupId":"`+group.ID+`","toolset":"reader"}`, 201)
	member, person, writer := "/api/groups/"+group.ID+"/members/"+w.person, "/api/people/"+w.person, "/api/projects/p/toolsets/writer"
	const all = "docs__erase docs__find docs__read"
	for _, c := range []struct{ method, path, body, want string }{
		{"PUT", member, "", all}, {"DELETE", member, "", "docs__erase"},
		{"PATCH", person, `{"role":"admin"}`, all}, {"PATCH", person, `{"role":"member"}`, "docs__erase"},
		{"PATCH", writer, `{"include":["docs__*"]}`, all}, {"PATCH", writer, `{"include":["docs__erase"]}`, "docs__erase"},
	} {
		delays = append(delays, w.change(t, c.want, func() {
			status := 200
			if c.body == "" {
				status = 204
			}
			w.administer(t, c.method, c.path, c.body, status)
		}))
		told()
	}
	w.administer(t, "DELETE", "/api/groups/"+group.ID, "", 204) // with its grant
	return delays
}
