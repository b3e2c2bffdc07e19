package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/web/webtest"
)

func TestListPages(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		a.project(t, "p", "none", "")
		p, err := a.Services.Projects.Project(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		const n = 1001
		rows := make([]models.Key, n)
		for i := range rows {
			rows[i] = models.Key{ID: fmt.Sprintf("k%04d", i), ProjectID: p.ID, Hash: fmt.Appendf(nil, "%d", i), CreatedAt: time.Unix(int64(1000+n-i), 0).UTC()}
		}
		if err := a.Services.DB.CreateInBatches(rows, 500).Error; err != nil {
			t.Fatal(err)
		}
		const path = "/api/projects/p/keys"
		for query, want := range map[string]int{"": 200, "?limit=": 200, "?limit=1": 1, "?limit=2": 2, "?limit=999": 999, "?limit=1000": 1000} {
			var list keyList
			a.admin(t, "GET", path+query, "", 200, &list)
			if list.Count != want || len(list.Items) != want || list.NextCursor == nil {
				t.Errorf("%q: %d of %d items", query, list.Count, len(list.Items))
			}
		}
		for _, query := range []string{"?limit=0", "?limit=1001", "?limit=-1", "?limit=x", "?limit=1.5", "?limit=99999999999999999999"} {
			webtest.Check(t, webtest.Case{WantBody: []string{`"code":"INVALID_PARAMETER"`, "1 to 1000"}}, a.admin(t, "GET", path+query, "", 400, nil))
		}
		seen, cursor, pages := 0, "", 0
		for {
			var list keyList
			a.admin(t, "GET", path+"?limit=400&cursor="+cursor, "", 200, &list)
			pages++
			for _, item := range list.Items {
				if item.ID != fmt.Sprintf("k%04d", seen) {
					t.Fatalf("item %d = %s", seen, item.ID)
				}
				seen++
			}
			if list.NextCursor == nil {
				break
			}
			cursor = *list.NextCursor
		}
		if seen != n || pages != 3 {
			t.Errorf("%d items on %d pages", seen, pages)
		}
		for _, token := range []string{"x", "!", base64.RawURLEncoding.EncodeToString([]byte("-1")), base64.RawURLEncoding.EncodeToString([]byte("1x")), cursor + "A"} {
			webtest.Check(t, webtest.Case{WantBody: []string{`"code":"INVALID_CURSOR"`, `"restart":true`}}, a.admin(t, "GET", path+"?cursor="+token, "", 400, nil))
		}
		var beyond keyList
		a.admin(t, "GET", path+"?cursor="+base64.RawURLEncoding.EncodeToString([]byte("5000")), "", 200, &beyond)
		if beyond.Count != 0 || beyond.NextCursor != nil {
			t.Errorf("after the end: %+v", beyond)
		}
	})
}

func TestFullLastPageHasNoCursor(t *testing.T) {
	a := onSQLite(t)
	a.Apply(t, `{"projects":{"a":{},"b":{},"c":{}}}`)
	for limit, more := range map[int]bool{2: true, 3: false, 4: false} {
		var list struct{ NextCursor *string }
		a.admin(t, "GET", fmt.Sprintf("/api/projects?limit=%d", limit), "", 200, &list)
		if more != (list.NextCursor != nil) {
			t.Errorf("limit %d: cursor %v", limit, list.NextCursor)
		}
	}
}

func TestEmptyLists(t *testing.T) {
	a := onSQLite(t)
	const empty = `{"items":[],"count":0,"nextCursor":null}`
	for _, path := range []string{"/api/projects", "/api/projects/p/servers", "/api/projects/p/tools", "/api/projects/p/keys"} {
		if path != "/api/projects" {
			a.Apply(t, `{"projects":{"p":{}}}`)
		}
		webtest.Check(t, webtest.Case{WantJSON: empty}, a.admin(t, "GET", path, "", 200, nil))
	}
	for _, path := range []string{"/api/projects/zzz", "/api/projects/zzz/servers", "/api/projects/zzz/tools", "/api/servers/zzz"} {
		webtest.Check(t, webtest.Case{WantBody: []string{`"code":"NOT_FOUND"`}}, a.admin(t, "GET", path, "", 404, nil))
	}
}

func TestRecordsUseDeclarativeNames(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		a.Apply(t, fmt.Sprintf(`{"projects":{"demo":{"name":"Demo","description":"d","authMode":"none","codeMode":{"enabled":true,"timeout":1000,"allowFetch":true},
			"toolExposure":"builtin","toolNameLimit":64,"disabledTools":["b","a"],"rateLimit":{"perSecond":1.5,"burst":3},"limits":[],"recordPayloads":false,
			"mcpServers":{"up":{"url":%q,"authType":"bearer","authBearer":"c4nary-1","headers":{"x-key":"c4nary-2","X-Ref":"${MCP_UPSTREAM_C4NARY}"},"denyTools":["sleep"],"oauth":{"clientSecret":"c4nary-3"}}}}}}`, a.url))
		project := a.admin(t, "GET", "/api/projects/demo", "", 200, nil)
		webtest.Check(t, webtest.Case{WantJSON: `{"projectSlug":"demo","name":"Demo","description":"d","authMode":"none","oauthAccess":"anyone","codeMode":{"enabled":true,"timeout":1000,"allowFetch":true},
			"toolExposure":"builtin","toolNameLimit":64,"disabledTools":["a","b"],"rateLimit":{"perSecond":1.5,"burst":3},"limits":[],"recordPayloads":false,"toolNames":"prefixed","validateArguments":false,"resultLimit":0,"instructions":"","icon":"","websiteUrl":"","serverCard":false,"published":false,"personalKeys":{"enabled":false,"maxDays":365},"secretRefs":[],"retention":{"calls":7,"payloads":3,"runs":200},"createdAt":"T","updatedAt":"T",
			"warnings":[{"code":"SHARED_CREDENTIALS","message":"Project demo has authMode none: anyone who can reach its endpoint uses the credentials of up."}]}`}, timeless(t, project))
		id := a.ServerID(t, "demo", "up")
		server := a.admin(t, "GET", "/api/servers/"+id, "", 200, nil)
		record := fmt.Sprintf(`{"id":%q,"projectSlug":"demo","alias":"up","url":%q,"transport":"auto","authType":"bearer","hasAuthBearer":true,"headerNames":["X-Key","X-Ref"],
			"allowedTools":[],"denyTools":["sleep"],"tools":{},"enabled":true,"timeout":60000,"maxConcurrent":512,"sessionMode":"shared","definitionPolicy":"follow","protocolVersion":"auto","taskTimeout":600000,"resultLimit":null,"oauth":{"clientId":"","hasClientSecret":true,"scopes":[]},"connection":"shared","personalHeaders":[],"lastSync":null,"revision":null,"health":null,"createdAt":"T","updatedAt":"T"}`, id, a.url)
		var got map[string]json.RawMessage
		if err := json.Unmarshal([]byte(server.Body), &got); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"lastSync", "revision", "health"} { // the background sync may have run first
			got[name] = json.RawMessage("null")
		}
		b, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		server.Body = string(b)
		webtest.Check(t, webtest.Case{WantJSON: record}, timeless(t, server))
		for _, path := range []string{"/api/projects", "/api/projects/demo", "/api/projects/demo/servers", "/api/servers/" + id} {
			if body := a.admin(t, "GET", path, "", 200, nil).Body; strings.Contains(body, "c4nary") {
				t.Errorf("%s contains a secret: %s", path, body)
			}
		}
		if strings.Contains(a.Log.String(), "c4nary") {
			t.Error("log contains a secret")
		}
	})
}

// timeless replaces the times of a record.
func timeless(t *testing.T, a webtest.Response) webtest.Response {
	t.Helper()
	var record map[string]json.RawMessage
	if err := json.Unmarshal([]byte(a.Body), &record); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"createdAt", "updatedAt"} {
		var at time.Time
		if err := json.Unmarshal(record[name], &at); err != nil || time.Since(at) > time.Hour {
			t.Errorf("%s = %s: %v", name, record[name], err)
		}
		record[name] = json.RawMessage(`"T"`)
	}
	b, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	a.Body = string(b)
	return a
}

func TestBlockedAddressesAreNotSaved(t *testing.T) {
	for listener, refused := range map[string][]string{
		"GATEWAY_ADDR=127.0.0.1:8080": {"http://169.254.169.254/mcp", "http://[fd00:ec2::254]/mcp", "http://0.0.0.0/mcp", "http://[::ffff:127.0.0.1]/mcp", "file:///etc/passwd", "https://u:p@up.example", "https:///x"},
		"GATEWAY_ADDR=0.0.0.0:8080":   {"http://127.0.0.1:1/mcp", "http://10.0.0.1/mcp", "http://192.168.0.1/mcp", "http://[::1]/mcp", "http://169.254.169.254/mcp"},
	} {
		a := onSQLite(t, listener, "GATEWAY_PUBLIC_URL=https://gateway.example")
		for _, url := range refused {
			_, err := applyTo(t, a.App, fmt.Sprintf(`{"projects":{"p":{"mcpServers":{"s":{"url":%q}}}}}`, url))
			if err == nil || !strings.Contains(err.Error(), "projects.p.mcpServers.s.url") {
				t.Errorf("%s: Apply(%s) = %v", listener, url, err)
			}
		}
		if _, err := applyTo(t, a.App, `{"projects":{"p":{"mcpServers":{"s":{"url":"https://93.184.216.34/mcp","enabled":false}}}}}`); err != nil {
			t.Errorf("%s: public address: %v", listener, err)
		}
	}
}
