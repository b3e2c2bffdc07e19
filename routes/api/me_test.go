package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
)

// ownWorld is an application in which ann and bob are signed in. Ann may use the
// toolset reader of the project p and everything in q, bob everything in p.
type ownWorld struct {
	*app
	api      *openAPI
	ann, bob *routestest.Admin
	ids      map[*routestest.Admin]string
}

func newOwnWorld(t *testing.T, a *app) *ownWorld {
	t.Helper()
	w := &ownWorld{app: a, api: readOpenAPI(t, a), ids: map[*routestest.Admin]string{}}
	var id string
	w.ann, id = a.Join(t, "ann@example.com", "Ann", models.RoleMember)
	w.ids[w.ann] = id
	w.bob, id = a.Join(t, "bob@example.com", "Bob", models.RoleMember)
	w.ids[w.bob] = id
	a.Apply(t, fmt.Sprintf(`{"projects":{
		"p":{"name":"Zebra","authMode":"api_key","personalKeys":{"enabled":true,"maxDays":30},"toolsets":{"reader":{"include":["up__echo"]},"writer":{}},
			"access":{"people":{"ann@example.com":["reader"],"bob@example.com":"project"}},"mcpServers":{"up":{"url":%q}}},
		"q":{"name":"Ant","authMode":"oauth","oauthAccess":"members","toolsets":{"all":{"include":["*"]}},"access":{"people":{"ann@example.com":"project"}}},
		"open":{"authMode":"none"},"theirs":{"authMode":"api_key"}}}`, a.url))
	a.Sync(t, "p", "up")
	return w
}

// request sends a request of a person, checks the status and that the response is
// as the API describes it, and decodes it.
func (w *ownWorld) request(t *testing.T, who *routestest.Admin, method, path, body string, status int, into any) {
	t.Helper()
	got, text := who.Ask(t, method, path, body, method != http.MethodGet)
	if got != status {
		t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	for template, operations := range w.api.Paths {
		if !matches(template, path) || operations[strings.ToLower(method)].Responses == nil {
			continue
		}
		described, found := operations[strings.ToLower(method)].Responses[fmt.Sprint(status)]
		if described.Ref != "" {
			described = w.api.Components.Responses[strings.TrimPrefix(described.Ref, "#/components/responses/")]
		}
		if !found || (len(described.Content) == 0) != (text == "") {
			t.Errorf("%s %s: %d is not described: %s", method, path, status, text)
		}
		for _, c := range described.Content {
			w.api.validate(t, path, c.Schema, []byte(text))
		}
	}
	if into != nil {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
}

// matches reports whether a path has the form of a template.
func matches(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	for i := range want {
		if len(want) != len(got) || want[i] != got[i] && !strings.HasPrefix(want[i], "{") {
			return false
		}
	}
	return true
}

func TestOwnProjects(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		w := newOwnWorld(t, a)
		var me personRecord
		if w.request(t, w.ann, "GET", "/api/me", "", 200, &me); me.ID != w.ids[w.ann] || me.Email != "ann@example.com" || me.Name != "Ann" || me.Role != "member" || !me.HasPassword {
			t.Errorf("me = %+v", me)
		}
		type project struct {
			ProjectSlug, Name   string
			Endpoints, Toolsets []string
		}
		const base = "http://127.0.0.1:8080/v1/mcp/"
		for who, want := range map[*routestest.Admin][]project{
			w.ann: {
				{"q", "Ant", []string{base + "q/request", base + "q/toolsets/all/request"}, []string{"all"}},
				{"p", "Zebra", []string{base + "p/request", base + "p/toolsets/reader/request"}, []string{"reader"}},
			},
			w.bob: {{"p", "Zebra", []string{base + "p/request", base + "p/toolsets/reader/request", base + "p/toolsets/writer/request"}, []string{"reader", "writer"}}},
		} {
			var list struct{ Items []project }
			w.request(t, who, "GET", "/api/me/projects", "", 200, &list)
			if d := cmp.Diff(want, list.Items); d != "" {
				t.Errorf("projects (-want +got):\n%s", d)
			}
		}
	})
}

type ownKey struct {
	ID, Name, Prefix, Key string
	ExpiresAt             *time.Time
	Owner                 *struct{ ID, Name string }
	Toolsets              []string
}

func TestOwnKeys(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		w := newOwnWorld(t, a)
		soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		body := func(more string) string { return `{"name":"laptop","expiresAt":"` + soon + `"` + more + `}` }
		var whole, narrow ownKey
		w.request(t, w.ann, "POST", "/api/me/projects/p/keys", body(""), 201, &whole)
		w.request(t, w.ann, "POST", "/api/me/projects/p/keys", body(`,"toolsets":["reader"]`), 201, &narrow)
		if whole.Toolsets != nil || whole.Owner == nil || whole.Owner.ID != w.ids[w.ann] || whole.Owner.Name != "Ann" || cmp.Diff([]string{"reader"}, narrow.Toolsets) != "" {
			t.Errorf("created %+v and %+v", whole, narrow)
		}
		if listed := a.listedTools(t, "p", narrow.Key); !strings.Contains(listed, "up__echo") || strings.Contains(listed, "up__add") {
			t.Errorf("the key lists %s", listed)
		}
		for path, body := range map[string]string{"p": body(`,"toolsets":["writer"]`), "theirs": body(""), "open": body(""), "none": body("")} {
			w.request(t, w.ann, "POST", "/api/me/projects/"+path+"/keys", body, 404, nil)
		}
		for _, bad := range []string{body(`,"toolsets":[]`), `{"name":"laptop"}`, `{"expiresAt":"` + time.Now().Add(31*24*time.Hour).UTC().Format(time.RFC3339) + `"}`} {
			w.request(t, w.ann, "POST", "/api/me/projects/p/keys", bad, 422, nil)
		}
		var rotated ownKey
		w.request(t, w.ann, "POST", "/api/me/keys/"+narrow.ID+"/rotate", `{}`, 201, &rotated)
		if cmp.Diff([]string{"reader"}, rotated.Toolsets) != "" || rotated.Owner == nil || rotated.Owner.ID != w.ids[w.ann] || rotated.Key == narrow.Key {
			t.Errorf("rotated %+v", rotated)
		}
		w.request(t, w.bob, "POST", "/api/me/keys/"+whole.ID+"/rotate", `{}`, 404, nil)
		w.request(t, w.bob, "DELETE", "/api/me/keys/"+whole.ID, "", 404, nil)
		if listed := a.listedTools(t, "p", whole.Key); !strings.Contains(listed, "up__echo") {
			t.Errorf("another person's request ended the key: %s", listed)
		}
		service, _ := a.Key(t, "p", 0)
		w.request(t, w.ann, "DELETE", "/api/me/keys/"+service, "", 404, nil)
		w.request(t, w.ann, "POST", "/api/me/keys/"+service+"/rotate", `{}`, 404, nil)
		w.request(t, w.ann, "DELETE", "/api/me/keys/"+whole.ID, "", 204, nil)
		var list struct{ Items []ownKey }
		if w.request(t, w.ann, "GET", "/api/me/keys", "", 200, &list); len(list.Items) != 1 || list.Items[0].ID != rotated.ID || list.Items[0].Key != "" {
			t.Errorf("listed %+v", list.Items)
		}
		if w.request(t, w.bob, "GET", "/api/me/keys", "", 200, &list); len(list.Items) != 0 {
			t.Errorf("bob's keys %+v", list.Items)
		}
	})
}

func TestOwnAppsAndSessions(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		w := newOwnWorld(t, a)
		q, err := a.Services.Projects.Project(t.Context(), "q")
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().UTC().Truncate(time.Millisecond)
		for _, row := range []any{
			&models.OAuthClient{ID: "c", Kind: models.ClientRegistered, Name: "Editor", AuthMethod: models.AuthMethodNone, SecretHash: []byte{}, RedirectURIs: models.StringList{}, CreatedAt: now},
			&models.OAuthGrant{ID: "g", ClientID: "c", UserID: w.ids[w.ann], ProjectID: q.ID, Scopes: "mcp:read mcp:call", CreatedAt: now, LastUsedAt: now, ExpiresAt: now.Add(time.Hour)},
		} {
			if err := a.Services.DB.Create(row).Error; err != nil {
				t.Fatal(err)
			}
		}
		var apps struct {
			Items []struct {
				ID, Name, Host, ProjectSlug string
				Scopes                      []string
			}
		}
		w.request(t, w.ann, "GET", "/api/me/apps", "", 200, &apps)
		if len(apps.Items) != 1 || apps.Items[0].ID != "g" || apps.Items[0].Name != "Editor" || apps.Items[0].ProjectSlug != "q" || cmp.Diff([]string{"mcp:read", "mcp:call"}, apps.Items[0].Scopes) != "" {
			t.Errorf("apps %+v", apps.Items)
		}
		if w.request(t, w.bob, "GET", "/api/me/apps", "", 200, &apps); len(apps.Items) != 0 {
			t.Errorf("bob's apps %+v", apps.Items)
		}
		w.request(t, w.bob, "DELETE", "/api/me/apps/g", "", 404, nil)
		w.request(t, w.ann, "DELETE", "/api/me/apps/g", "", 204, nil)
		if w.request(t, w.ann, "GET", "/api/me/apps", "", 200, &apps); len(apps.Items) != 0 {
			t.Errorf("removed app is listed: %+v", apps.Items)
		}

		if _, err := a.Services.People.SignIn(t.Context(), "ann@example.com", secrets.NewValue("a long password of the tests"), access.Browser{IP: "192.0.2.7", UserAgent: "Second"}); err != nil {
			t.Fatal(err)
		}
		var sessions struct {
			Items []struct {
				ID, UserAgent, IP string
				Current           bool
			}
		}
		if w.request(t, w.ann, "GET", "/api/me/sessions", "", 200, &sessions); len(sessions.Items) != 2 {
			t.Fatalf("sessions %+v", sessions.Items)
		}
		var other string
		for _, s := range sessions.Items {
			if s.Current != (s.UserAgent == "") || !s.Current && s.IP != "192.0.2.7" {
				t.Errorf("session %+v", s)
			}
			if !s.Current {
				other = s.ID
			}
		}
		w.request(t, w.bob, "DELETE", "/api/me/sessions/"+other, "", 404, nil)
		w.request(t, w.ann, "DELETE", "/api/me/sessions/"+other, "", 204, nil)
		w.request(t, w.ann, "DELETE", "/api/me/sessions/"+other, "", 404, nil)
		if w.request(t, w.ann, "GET", "/api/me/sessions", "", 200, &sessions); len(sessions.Items) != 1 || !sessions.Items[0].Current {
			t.Errorf("sessions %+v", sessions.Items)
		}
	})
}

// TestOwnRoutesNeedCSRFToken sends changes without the session's token.
func TestOwnRoutesNeedCSRFToken(t *testing.T) {
	w := newOwnWorld(t, onSQLite(t))
	for _, route := range ofUsers {
		if route[0] == http.MethodGet {
			continue
		}
		if status, text := w.ann.Ask(t, route[0], route[1], "", false); status != 403 {
			t.Errorf("%v: %d %s", route, status, text)
		}
	}
}
