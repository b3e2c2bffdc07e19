package routes_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access/grants"
	"mcpgateway/services/access/keys"
	"mcpgateway/services/upstream/upstreamtest"
	"mcpgateway/web/webtest"
)

// grantWorld is an application with the project p, the tools up__echo and others,
// and the toolsets a (up__echo) and b (the others).
type grantWorld struct {
	*routestest.App
	people map[string]string // IDs by name
}

func newGrantWorld(t *testing.T, dsn string) *grantWorld {
	t.Helper()
	w := &grantWorld{App: routestest.New(t, dsn), people: map[string]string{}}
	up := upstreamtest.New(upstreamtest.Options{Name: "up", Tools: upstreamtest.Standard(2)}).Start(t)
	w.Apply(t, fmt.Sprintf(`{"projects":{"p":{"authMode":"api_key","personalKeys":{"enabled":true,"maxDays":30},
		"toolsets":{"a":{"include":["up__echo"]},"b":{"include":["up__*"],"exclude":["up__echo"]}},"mcpServers":{"up":{"url":%q}}},
		"other":{"authMode":"api_key","toolsets":{"theirs":{"include":["*"]}},"mcpServers":{}}}}`, up))
	w.Sync(t, "p", "up")
	for _, name := range []string{"ann", "bob"} {
		row := models.User{ID: "u-" + name, Email: name + "@example.com", EmailFold: name + "@example.com", Name: name, Role: models.RoleMember}
		if err := w.Services.DB.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
		w.people[name] = row.ID
	}
	if err := w.Services.Rights.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func eachGrantWorld(t *testing.T, f func(t *testing.T, w *grantWorld)) {
	t.Helper()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) { f(t, newGrantWorld(t, dsn)) })
}

// admin sends a request with the administration token and decodes the response.
func (w *grantWorld) admin(t *testing.T, method, path, body string, status int) map[string]any {
	t.Helper()
	got := webtest.Send(t, w.App.App, webtest.Case{Method: method, Path: path, Body: body, Header: map[string]string{"Authorization": "Bearer " + routestest.AdminToken}})
	if got.Status != status {
		t.Fatalf("%s %s %s: status %d %s, want %d", method, path, body, got.Status, got.Body, status)
	}
	decoded := map[string]any{}
	if got.Body != "" {
		if err := json.Unmarshal([]byte(got.Body), &decoded); err != nil {
			t.Fatal(err)
		}
	}
	return decoded
}

// sees returns whether a key lists the echo tool and another one at an endpoint,
// in the form "echo other", or the status and body of a refusal.
func (w *grantWorld) sees(t *testing.T, key, endpoint string) string {
	t.Helper()
	got := webtest.Send(t, w.App.App, webtest.Case{Method: "POST", Path: "/v1/mcp/p" + endpoint + "/request",
		Body:   `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
		Header: map[string]string{"Authorization": "Bearer " + key, "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}})
	if got.Status != http.StatusOK {
		return fmt.Sprint(got.Status, " ", routestest.Normalise(got.Body))
	}
	var seen []string
	if strings.Contains(got.Body, `"up__echo"`) {
		seen = append(seen, "echo")
	}
	if strings.Count(got.Body, `"up__`)-strings.Count(got.Body, `"up__echo"`) > 0 {
		seen = append(seen, "others")
	}
	return strings.Join(seen, " ")
}

func (w *grantWorld) projectID(t *testing.T) string {
	t.Helper()
	p, err := w.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	return p.Project.ID
}

// ownKey returns a key of a person.
func (w *grantWorld) ownKey(t *testing.T, name string, toolsets ...string) (id, text string) {
	t.Helper()
	row, key, err := w.Services.Own.CreateKey(t.Context(), w.people[name], "p", keys.Attributes{Name: "laptop", Lifetime: time.Hour, Toolsets: toolsets})
	if err != nil {
		t.Fatal(err)
	}
	return row.ID, key.Reveal()
}

const noTools = "401 "

func TestWhoSeesWhichTools(t *testing.T) {
	eachGrantWorld(t, func(t *testing.T, w *grantWorld) {
		everything := w.admin(t, "POST", "/api/projects/p/keys", `{"name":"all","toolsets":null}`, 201)["key"].(string)
		onlyA := w.admin(t, "POST", "/api/projects/p/keys", `{"name":"a","toolsets":["a"]}`, 201)["key"].(string)
		w.admin(t, "POST", "/api/projects/p/access", `{"personId":"u-ann","toolset":"b"}`, 201)
		w.admin(t, "POST", "/api/projects/p/access", `{"personId":"u-bob","toolset":null}`, 201)
		_, ann := w.ownKey(t, "ann")
		_, bob := w.ownKey(t, "bob")
		_, bobA := w.ownKey(t, "bob", "a")
		for _, tc := range []struct{ name, key, project, a, b string }{
			{"service key", everything, "echo others", "echo", "others"},
			{"service key of a", onlyA, "echo", "echo", noTools},
			{"key of a person with b", ann, "others", noTools, "others"},
			{"key of a member", bob, "echo others", "echo", "others"},
			{"key of a member, limited to a", bobA, "echo", "echo", noTools},
			{"no key", "gwk_000000000000000000000000000000000000", noTools, noTools, noTools},
		} {
			for endpoint, want := range map[string]string{"": tc.project, "/toolsets/a": tc.a, "/toolsets/b": tc.b} {
				got := w.sees(t, tc.key, endpoint)
				if want == noTools {
					if refused := w.sees(t, "gwk_111111111111111111111111111111111111", endpoint); got != refused || !strings.HasPrefix(got, "401") {
						t.Errorf("%s at %q: got %q, an unknown key gets %q", tc.name, endpoint, got, refused)
					}
				} else if got != want {
					t.Errorf("%s at %q: sees %q, want %q", tc.name, endpoint, got, want)
				}
			}
		}
	})
}

func TestKeyIsNarrowedAndWidened(t *testing.T) {
	eachGrantWorld(t, func(t *testing.T, w *grantWorld) {
		created := w.admin(t, "POST", "/api/projects/p/keys", `{"name":"ci"}`, 201)
		path, key := "/api/keys/"+created["id"].(string), created["key"].(string)
		if created["toolsets"] != nil || created["owner"] != nil {
			t.Errorf("new key: %v", created)
		}
		for body, want := range map[string]string{`{"toolsets":["a"]}`: "echo", `{"toolsets":["a","b"]}`: "echo others", `{"toolsets":["b"]}`: "others", `{"toolsets":null}`: "echo others"} {
			w.admin(t, "PATCH", path, body, 200)
			if got := w.sees(t, key, ""); got != want {
				t.Errorf("%s: sees %q, want %q", body, got, want)
			}
		}
		for _, body := range []string{`{"toolsets":[]}`, `{}`, `{"toolsets":"a"}`, `{"toolset":["a"]}`} {
			w.admin(t, "PATCH", path, body, 422)
		}
		w.admin(t, "POST", "/api/projects/p/keys", `{"toolsets":[]}`, 422)
		w.admin(t, "PATCH", path, `{"toolsets":["theirs"]}`, 404)
		w.admin(t, "POST", "/api/projects/p/keys", `{"toolsets":["theirs"]}`, 404)
		w.admin(t, "PATCH", "/api/keys/unknown", `{"toolsets":["a"]}`, 404)
	})
}

func TestOldReplicaRefusesScopedKeys(t *testing.T) {
	eachGrantWorld(t, func(t *testing.T, w *grantWorld) {
		w.admin(t, "POST", "/api/projects/p/access", `{"personId":"u-ann","toolset":"a"}`, 201)
		scoped := w.admin(t, "POST", "/api/projects/p/keys", `{"toolsets":["a"]}`, 201)["key"].(string)
		_, own := w.ownKey(t, "ann")
		whole := w.admin(t, "POST", "/api/projects/p/keys", `{}`, 201)["key"].(string)
		for text, found := range map[string]int64{scoped: 0, own: 0, whole: 1} {
			var n int64
			if err := w.Services.DB.Model(&models.Key{}).Where("hash = ?", plainHash(text)).Count(&n).Error; err != nil || n != found {
				t.Errorf("%d keys by the plain hash, want %d (%v)", n, found, err)
			}
		}
	})
}

func TestPersonalKeyEnds(t *testing.T) {
	eachGrantWorld(t, func(t *testing.T, w *grantWorld) {
		grant := w.admin(t, "POST", "/api/projects/p/access", `{"personId":"u-ann","toolset":"a"}`, 201)
		id, key := w.ownKey(t, "ann")
		w.admin(t, "POST", "/api/keys/"+id+"/rotate", `{}`, 403)
		w.admin(t, "PATCH", "/api/keys/"+id, `{"toolsets":["a"]}`, 403)
		row, rotated, err := w.Services.Own.RotateKey(t.Context(), "u-ann", id, 0)
		if err != nil || row.UserID != "u-ann" {
			t.Fatalf("rotation: owner %q, %v", row.UserID, err)
		}
		if got := w.sees(t, key, ""); !strings.HasPrefix(got, "401") {
			t.Errorf("replaced key sees %q", got)
		}
		key = rotated.Reveal()
		check := func(what string, works bool) {
			t.Helper()
			if got := w.sees(t, key, ""); (got == "echo") != works || !works && !strings.HasPrefix(got, "401") {
				t.Errorf("%s: sees %q", what, got)
			}
		}
		check("granted", true)
		w.admin(t, "PATCH", "/api/projects/p", `{"personalKeys":{"enabled":false}}`, 200)
		check("switched off", false)
		w.admin(t, "PATCH", "/api/projects/p", `{"personalKeys":{"enabled":true}}`, 200)
		check("switched on again", true)
		w.admin(t, "PATCH", "/api/people/u-ann", `{"disabled":true}`, 200)
		check("owner disabled", false)
		w.admin(t, "PATCH", "/api/people/u-ann", `{"disabled":false}`, 200)
		check("owner enabled", true)
		w.admin(t, "DELETE", "/api/projects/p/access/"+grant["id"].(string), "", 204)
		check("grant removed", false)
		w.admin(t, "DELETE", "/api/projects/p/access/"+grant["id"].(string), "", 404)
		w.admin(t, "POST", "/api/projects/p/access", `{"personId":"u-ann","toolset":"a"}`, 201)
		check("granted again", true)
		w.admin(t, "DELETE", "/api/people/u-ann", "", 204)
		check("owner deleted", false)
		var left int64
		if err := w.Services.DB.Model(&models.ProjectGrant{}).Where("subject_id = 'u-ann'").Count(&left).Error; err != nil || left != 0 {
			t.Errorf("%d grants of a deleted person (%v)", left, err)
		}
	})
}

// TestDeletedToolsetWidensNoKey deletes a toolset of keys of every kind. Keys
// left without a toolset end, and no other key gains tools.
func TestDeletedToolsetWidensNoKey(t *testing.T) {
	w := newGrantWorld(t, modelstest.SQLite(t))
	w.admin(t, "POST", "/api/projects/p/access", `{"personId":"u-ann","toolset":"a"}`, 201)
	w.admin(t, "POST", "/api/projects/p/access", `{"personId":"u-bob","toolset":null}`, 201)
	service := func(toolsets string) string {
		return w.admin(t, "POST", "/api/projects/p/keys", `{"toolsets":`+toolsets+`}`, 201)["key"].(string)
	}
	personal := func(name string, toolsets ...string) string {
		_, text := w.ownKey(t, name, toolsets...)
		return text
	}
	keys := []struct{ name, key, before, after string }{
		{"service key", service("null"), "echo others", "echo others"},
		{"service key of a", service(`["a"]`), "echo", "401"},
		{"service key of both", service(`["a","b"]`), "echo others", "others"},
		{"personal key of a holder of a", personal("ann"), "echo", "401"},
		{"personal key of a member", personal("bob"), "echo others", "echo others"},
		{"personal key of a member for a", personal("bob", "a"), "echo", "401"},
		{"personal key of a member for both", personal("bob", "a", "b"), "echo others", "others"},
	}
	all := func(after bool) {
		t.Helper()
		for _, k := range keys {
			want := k.before
			if after {
				want = k.after
			}
			if got := w.sees(t, k.key, ""); got != want && !(want == "401" && strings.HasPrefix(got, "401")) {
				t.Errorf("%s, after %t: sees %q, want %q", k.name, after, got, want)
			}
		}
	}
	all(false)
	if got := w.admin(t, "DELETE", "/api/projects/p/toolsets/a", "", 409)["fields"]; got == nil {
		t.Error("the conflict has no fields")
	}
	all(false)
	w.admin(t, "DELETE", "/api/projects/p/toolsets/a?force=true", "", 204)
	all(true)
	w.admin(t, "POST", "/api/projects/p/toolsets", `{"slug":"a","include":["*"]}`, 201) // is another one
	all(true)
}

func TestLimitsOfGrantsAndPersonalKeys(t *testing.T) {
	w := newGrantWorld(t, modelstest.SQLite(t))
	w.admin(t, "POST", "/api/projects/p/access", `{"personId":"u-ann","toolset":"a"}`, 201)
	create := func(lifetime time.Duration, toolsets ...string) error {
		_, _, err := w.Services.Own.CreateKey(t.Context(), "u-ann", "p", keys.Attributes{Name: "k", Lifetime: lifetime, Toolsets: toolsets})
		return err
	}
	const longest = 30 * 24 * time.Hour
	if err := create(0); err == nil {
		t.Error("personal key without an expiry")
	}
	if err := create(longest + time.Millisecond); err == nil {
		t.Error("personal key that lives too long")
	}
	for n := 1; n <= keys.MaxPersonal+1; n++ {
		if err := create(longest - time.Duration(n%2)*time.Millisecond); (err == nil) != (n <= keys.MaxPersonal) {
			t.Errorf("key %d: %v", n, err)
		}
	}
	if err := create(longest, "b"); err == nil {
		t.Error("key for a toolset that the person does not hold")
	}
	rows := make([]models.ProjectGrant, grants.Max-2) // with the one above, one is left
	for i := range rows {
		rows[i] = models.ProjectGrant{ID: fmt.Sprint("g", i), ProjectID: w.projectID(t), SubjectKind: models.SubjectPerson, SubjectID: fmt.Sprint("x", i), Role: models.GrantUse}
	}
	if err := w.Services.DB.CreateInBatches(&rows, 200).Error; err != nil {
		t.Fatal(err)
	}
	w.admin(t, "POST", "/api/projects/p/access", `{"personId":"u-bob","toolset":"a"}`, 201)
	w.admin(t, "POST", "/api/projects/p/access", `{"personId":"u-bob","toolset":"b"}`, 422)
	w.admin(t, "POST", "/api/projects/p/access", `{"personId":"u-bob","toolset":"a"}`, 201) // exists
	for _, body := range []string{`{}`, `{"personId":"u-ann","groupId":"g"}`, `{"personId":"u-ann","role":"boss"}`, `{"personId":"u-ann","toolset":""}`, `{"personId":"u-ann","toolset":"a","role":"maintain"}`} {
		w.admin(t, "POST", "/api/projects/p/access", body, 422)
	}
	for _, body := range []string{`{"personId":"nobody"}`, `{"groupId":"none"}`, `{"personId":"u-ann","toolset":"theirs"}`} {
		w.admin(t, "POST", "/api/projects/p/access", body, 404)
	}
}

func plainHash(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}
