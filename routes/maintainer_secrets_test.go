package routes_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
)

func TestMaintainerMovesNoSecret(t *testing.T) {
	w := newTeam(t)
	id := w.ids["p"]["servers"]
	set := func(as *routestest.Admin, body string, want int, contains string) {
		t.Helper()
		status, answer := as.Ask(t, "PATCH", "/api/servers/"+id, body, true)
		if status != want || !strings.Contains(answer, contains) {
			t.Fatalf("%s: %d, want %d with %q: %.400s", body, status, want, contains, answer)
		}
	}
	const cleared = `"SECRETS_CLEARED"`
	set(w.maintainer, `{"authBearer":"${OTHER_TOKEN}"}`, 422, "the reference ${OTHER_TOKEN} is not allowed in this project")
	set(w.maintainer, `{"url":"https://one.example.com/mcp?key=${OTHER_TOKEN}"}`, 422, "${OTHER_TOKEN} is not allowed")
	if status, body := w.maintainer.Ask(t, "PATCH", "/api/projects/p", `{"mcpServers":{"new":{"url":"https://one.example.com/mcp","headers":{"X-Key":"${OTHER_TOKEN}"}}}}`, true); status != 422 || !strings.Contains(body, "is not allowed") {
		t.Fatalf("a new server: %d %.300s", status, body)
	}

	// Stored secrets stay at their origin.
	set(w.admin, `{"url":"https://one.example.com/mcp?key=query-secret","authType":"bearer","authBearer":"bearer-secret","headers":{"X-Key":"header-secret"}}`, 200, `"hasAuthBearer":true`)
	set(w.maintainer, `{"url":"https://one.example.com:443/v2?key=[secret]"}`, 200, `"hasAuthBearer":true`)
	set(w.maintainer, `{"url":"https://ONE.example.com/mcp?key=[secret]"}`, 200, `"hasAuthBearer":true`)
	set(w.maintainer, `{"url":"https://one.example.com:8443/mcp?key=[secret]"}`, 200, cleared)
	w.wantNoSecrets(t, id)
	set(w.admin, `{"url":"https://one.example.com/mcp","authBearer":"bearer-secret"}`, 200, `"hasAuthBearer":true`)
	set(w.maintainer, `{"url":"http://one.example.com/mcp"}`, 200, cleared)
	w.wantNoSecrets(t, id)
	if _, body := w.admin.Ask(t, "GET", "/api/audit?action=server.secrets_cleared", "", false); !strings.Contains(body, `"count":2`) {
		t.Errorf("audit log: %.400s", body)
	}

	// Client credentials stay at their authorization server.
	const own = `"authType":"oauth","oauth":{"grant":"client_credentials","clientId":"id","clientSecret":"own-secret","tokenUrl":"https://as.example.com/token"}`
	set(w.admin, `{"url":"https://one.example.com/mcp",`+own+`}`, 200, `"hasClientSecret":true`)
	set(w.maintainer, `{"oauth":{"tokenUrl":"https://as.example.com/v2/token"}}`, 200, `"hasClientSecret":true`)
	for _, address := range []string{"https://evil.example.com/token", ""} {
		set(w.maintainer, `{"oauth":{"tokenUrl":"`+address+`"}}`, 422, "oauth.tokenUrl")
	}
	set(w.maintainer, `{"oauth":{"tokenUrl":"https://new.example.com/token","clientSecret":"of-the-maintainer"}}`, 200, `"hasClientSecret":true`)
	set(w.maintainer, `{"url":"https://evil.example.com/mcp"}`, 200, cleared)
	w.wantNoSecrets(t, id)

	// Administrators move servers with their secrets.
	set(w.admin, `{"url":"https://one.example.com/mcp","authBearer":"bearer-secret"}`, 200, `"hasAuthBearer":true`)
	set(w.admin, `{"url":"https://two.example.com/mcp"}`, 200, `"hasAuthBearer":true`)
}

// wantNoSecrets fails if a server has a stored secret.
func (w *team) wantNoSecrets(t *testing.T, id string) {
	t.Helper()
	row, err := w.admin.Services.Projects.Server(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if row.AuthBearer != "" || row.OAuthPrivateKey != "" || row.TLSKey != "" || row.OAuthClientSecret != "" || row.Headers["X-Key"] != "" || strings.Join(row.URLSecrets, "") != "" {
		t.Errorf("secrets are left: %q %q %v %q", row.AuthBearer, row.OAuthClientSecret, row.Headers, row.URLSecrets)
	}
}

func TestMaintainerForbiddenFields(t *testing.T) {
	w := newTeam(t)
	for field, body := range map[string]string{
		"authMode": `{"authMode":"none"}`, "oauthAccess": `{"oauthAccess":"members"}`, "codeMode.allowFetch": `{"codeMode":{"allowFetch":true}}`,
		"rateLimit.perSecond": `{"rateLimit":{"perSecond":1}}`, "rateLimit.burst": `{"rateLimit":{"burst":1}}`, "recordPayloads": `{"recordPayloads":true}`, "retention.calls": `{"retention":{"calls":1}}`, "retention.payloads": `{"retention":{"payloads":0}}`, "retention.runs": `{"retention":{"runs":1}}`, "serverCard": `{"serverCard":true}`, "secretRefs": `{"secretRefs":["*"]}`,
	} {
		status, answer := w.maintainer.Ask(t, "PATCH", "/api/projects/p", strings.TrimSuffix(body, "}")+`,"name":"Changed"}`, true)
		if status != 403 || !strings.Contains(answer, `"fields":{"`+field+`":`) {
			t.Errorf("%s: %d %.300s", body, status, answer)
		}
	}
	if status, answer := w.maintainer.Ask(t, "PATCH", "/api/projects/p", `{"name":"Ours","description":"d","instructions":"i","icon":"https://x.example/i.png","websiteUrl":"https://x.example","toolNames":"bare","validateArguments":true,"toolNameLimit":64,"codeMode":{"enabled":true}}`, true); status != 200 || !strings.Contains(answer, `"name":"Ours"`) {
		t.Errorf("own fields: %d %.300s", status, answer)
	}
	form := url.Values{"name": {"By form"}, "description": {""}, "toolExposure": {"full"}, "toolNameLimit": {"0"}}
	for _, extra := range []string{"authMode", "recordPayloads", "serverCard", "secretRefs", "rateLimit.perSecond", "retention.calls", "retention.payloads", "retention.runs"} {
		sent := url.Values{extra: {"1"}}
		for name, values := range form {
			sent[name] = values
		}
		if extra == "authMode" {
			sent.Set(extra, "oauth")
		}
		if status, body, _ := w.maintainer.Send(t, "/admin/projects/p/settings", sent); status != http.StatusForbidden {
			t.Errorf("form with %s: %d %.200s", extra, status, body)
		}
	}
	if status, body, _ := w.maintainer.Send(t, "/admin/projects/p/settings", form); status != http.StatusSeeOther {
		t.Errorf("form: %d %.300s", status, body)
	}
	if status, body, _ := w.maintainer.Send(t, "/admin/projects/p/code-mode/settings", url.Values{"enabled": {"1"}, "timeout": {"20"}, "allowFetch": {"1"}}); status != http.StatusForbidden {
		t.Errorf("Code Mode with allowFetch: %d %.200s", status, body)
	}
	if status, body, _ := w.maintainer.Send(t, "/admin/projects/p/code-mode/settings", url.Values{"enabled": {"1"}, "timeout": {"20"}}); status != http.StatusSeeOther {
		t.Errorf("Code Mode: %d %.200s", status, body)
	}
}

func TestMaintainerUsesAllowedReferences(t *testing.T) {
	w := newTeam(t)
	for _, c := range []struct {
		refs string
		want int
	}{
		{`["${TEAM_*}"]`, 422}, {`["TEAM-A"]`, 422}, {`["file:relative"]`, 422}, {`["file:/run/../etc/*"]`, 422}, {`[""]`, 422},
		{`["TEAM_*","file:/run/secrets/team/*"]`, 200},
	} {
		if status, body := w.admin.Ask(t, "PATCH", "/api/projects/p", `{"secretRefs":`+c.refs+`}`, true); status != c.want {
			t.Errorf("secretRefs %s: %d, want %d: %.300s", c.refs, status, c.want, body)
		}
	}
	path := "/api/servers/" + w.ids["p"]["servers"]
	keep := func(as *routestest.Admin, body string, want int) {
		t.Helper()
		if status, answer := as.Ask(t, "PATCH", path, body, true); status != want {
			t.Fatalf("%s: %d, want %d: %.300s", body, status, want, answer)
		}
	}
	keep(w.admin, `{"url":"https://one.example.com/mcp?key=${OTHER_TOKEN}","headers":{"X-Key":"${OTHER_TOKEN}"}}`, 200)
	keep(w.maintainer, `{"headers":{"X-Key":"${OTHER_TOKEN}"},"url":"https://one.example.com/v2?key=${OTHER_TOKEN}"}`, 200) // as they are
	keep(w.maintainer, `{"headers":{"X-Other":"${OTHER_TOKEN}"}}`, 422)
	keep(w.maintainer, `{"url":"https://one.example.com/v2?key=${OTHER_TOKEN}&other=${OTHER_TOKEN}"}`, 422)
	keep(w.maintainer, `{"url":"https://evil.example.com/mcp","headers":{"X-Key":"${OTHER_TOKEN}"}}`, 422)
	keep(w.maintainer, `{"url":"https://evil.example.com/v2?key=${OTHER_TOKEN}"}`, 422)
	keep(w.maintainer, `{"authBearer":"${file:/run/secrets/team/../other}"}`, 422)
	keep(w.maintainer, `{"url":"https://evil.example.com/mcp","headers":{"X-Key":"Bearer ${TEAM_TOKEN}"}}`, 200)
	row, err := w.admin.Services.Projects.Server(t.Context(), w.ids["p"]["servers"])
	if err != nil || row.Headers["X-Key"] != "Bearer ${TEAM_TOKEN}" {
		t.Errorf("stored %v (%v)", row.Headers, err)
	}
	p, err := w.admin.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	// The test of a server before it is added sends no other secret either.
	address, other := "https://evil.example.com/mcp", "${OTHER_TOKEN}"
	draft := &declaration.Server{URL: &address, AuthBearer: &other}
	as := reach.With(t.Context(), reach.OfPerson(w.userID, models.RoleMember, w.admin.Services.Rights))
	if _, err := w.admin.Services.Projects.Draft(as, &p.Project, "new", draft); !fault.Is(err, fault.CodeValidationFailed) {
		t.Errorf("draft: %v", err)
	}
}
