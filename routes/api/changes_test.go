package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/routes/routestest"
	"mcpgateway/web/webtest"
)

type warning struct{ Code, Message string }

type serverRecord struct {
	ID, ProjectSlug, Alias, URL, AuthType string
	HasAuthBearer, Enabled                bool
	HeaderNames, DenyTools                []string
	Warnings                              []warning
	LastSync                              *struct{ OK bool }
}

func TestProjectAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		created := a.admin(t, "POST", "/api/projects", `{"projectSlug":"work","name":"Work","authMode":"none","mcpServers":{"up":{"url":"`+a.url+`"}}}`, 201, nil)
		webtest.Check(t, webtest.Case{
			WantHeader: map[string]string{"Location": "/api/projects/work"},
			WantJSON: `{"projectSlug":"work","name":"Work","description":"","authMode":"none","oauthAccess":"anyone","codeMode":{"enabled":false,"timeout":30000,"allowFetch":false},"toolExposure":"full",
				"toolNameLimit":0,"disabledTools":[],"rateLimit":{"perSecond":0,"burst":0},"limits":[],"recordPayloads":false,"toolNames":"prefixed","validateArguments":false,"resultLimit":0,"instructions":"","icon":"","websiteUrl":"","serverCard":false,"published":false,"personalKeys":{"enabled":true,"maxDays":365},"secretRefs":[],"retention":{"calls":7,"payloads":3,"runs":200},"createdAt":"T","updatedAt":"T","warnings":[]}`,
		}, timeless(t, created))
		routestest.Eventually(t, "tools are synced", func() bool { return strings.Contains(a.listedTools(t, "work", ""), "up__echo") })
		got := a.admin(t, "PATCH", "/api/projects/work", `{"description":"d","codeMode":{"timeout":1000},"rateLimit":{"burst":5},"recordPayloads":true,"toolNames":"bare","validateArguments":true,"instructions":"Be kind.","icon":"https://x.example/i.png","websiteUrl":"https://x.example","serverCard":true}`, 200, nil)
		webtest.Check(t, webtest.Case{WantBody: []string{`"name":"Work"`, `"description":"d"`, `"timeout":1000`, `"burst":5`, `"recordPayloads":true`, `"toolNames":"bare","validateArguments":true,"resultLimit":0,"instructions":"Be kind.","icon":"https://x.example/i.png","websiteUrl":"https://x.example","serverCard":true`}}, got)
		if same := a.admin(t, "GET", "/api/projects/work", "", 200, nil); same.Body != got.Body {
			t.Errorf("stored %s, response %s", same.Body, got.Body)
		}
		_, key := a.Key(t, "work", 0)
		a.admin(t, "PATCH", "/api/projects/work", `{"authMode":"api_key"}`, 200, nil)
		if answer := a.rpc(t, "work", "", "tools/list", "{}"); answer.Status != 401 {
			t.Errorf("without a key: %d", answer.Status)
		}
		if answer := a.rpc(t, "work", key, "tools/list", "{}"); answer.Status != 200 {
			t.Errorf("with a key: %d", answer.Status)
		}
		a.admin(t, "DELETE", "/api/projects/work", "", 204, nil)
		if answer := a.rpc(t, "work", key, "tools/list", "{}"); answer.Status != 404 {
			t.Errorf("deleted project: status %d", answer.Status)
		}
		a.admin(t, "DELETE", "/api/projects/work", "", 404, nil)
		a.admin(t, "PATCH", "/api/projects/work", "{}", 404, nil)
	})
}

func TestServerAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		a.admin(t, "POST", "/api/projects", `{"projectSlug":"p","authMode":"none"}`, 201, nil)
		var s serverRecord
		answer := a.admin(t, "POST", "/api/projects/p/servers", `{"alias":"up","url":"`+a.url+`","authBearer":"c4nary-1","headers":{"x-key":"c4nary-2"}}`, 201, &s)
		if s.ProjectSlug != "p" || s.Alias != "up" || s.AuthType != "bearer" || !s.HasAuthBearer || !cmp.Equal(s.HeaderNames, []string{"X-Key"}) || answer.Header.Get("Location") != "/api/servers/"+s.ID {
			t.Errorf("created %+v, headers %v", s, answer.Header)
		}
		if len(s.Warnings) != 1 || s.Warnings[0].Code != "SHARED_CREDENTIALS" {
			t.Errorf("warnings %v", s.Warnings)
		}
		routestest.Eventually(t, "tools are synced", func() bool { return strings.Contains(a.listedTools(t, "p", ""), "up__echo") })
		path := "/api/servers/" + s.ID
		changed := a.admin(t, "PATCH", path, `{"authType":"none","authBearer":"","headers":{"X-Key":""},"denyTools":["echo"]}`, 200, &s)
		if s.HasAuthBearer || len(s.HeaderNames) != 0 || len(s.Warnings) != 0 || !cmp.Equal(s.DenyTools, []string{"echo"}) {
			t.Errorf("changed to %+v", s)
		}
		if got := a.listedTools(t, "p", ""); strings.Contains(got, "up__echo") {
			t.Errorf("denied tool is listed: %s", got)
		}
		a.admin(t, "PATCH", path, `{"alias":"renamed","denyTools":[]}`, 200, &s)
		if s.Alias != "renamed" || len(s.Warnings) != 1 || s.Warnings[0].Code != "TOOLS_RENAMED" {
			t.Errorf("renamed to %+v", s)
		}
		if got := a.callEcho(t, "p", "", "renamed__echo"); errorCode(t, got) != 0 {
			t.Errorf("renamed tool: %s", got.Body)
		}
		if got := errorCode(t, a.callEcho(t, "p", "", "up__echo")); got != -32002 {
			t.Errorf("old name: %d", got)
		}
		a.admin(t, "DELETE", path, "", 204, nil)
		for _, method := range []string{"DELETE", "PATCH", "GET"} {
			a.admin(t, method, path, map[bool]string{true: "{}"}[method == "PATCH"], 404, nil)
		}
		for _, text := range []string{answer.Body, changed.Body, a.admin(t, "GET", "/api/audit", "", 200, nil).Body, a.Log.String()} {
			if strings.Contains(text, "c4nary") {
				t.Errorf("response contains a secret: %s", text)
			}
		}
	})
}

func TestRejectedChangesListFields(t *testing.T) {
	a := onSQLite(t)
	a.Apply(t, `{"projects":{"p":{"mcpServers":{"a":{"url":"https://a.example"},"b":{"url":"https://b.example"}}}}}`)
	id := a.ServerID(t, "p", "a")
	for _, tc := range []struct {
		method, path, body string
		status             int
		code, field        string
	}{
		{"POST", "/api/projects", `{}`, 422, "VALIDATION_FAILED", "projectSlug"},
		{"POST", "/api/projects", `{"projectSlug":"A"}`, 422, "VALIDATION_FAILED", "projectSlug"},
		{"POST", "/api/projects", `{"projectSlug":"p"}`, 409, "CONFLICT", "projectSlug"},
		{"POST", "/api/projects", `{"projectSlug":"q","authmode":"none"}`, 422, "VALIDATION_FAILED", "authmode"},
		{"POST", "/api/projects", `{"projectSlug":"q","mcpServers":{"x":{"url":"http://169.254.169.254/"}}}`, 422, "VALIDATION_FAILED", "mcpServers.x.url"},
		{"POST", "/api/projects", `[]`, 422, "VALIDATION_FAILED", "(body)"},
		{"PATCH", "/api/projects/p", `{"projectSlug":"q"}`, 422, "VALIDATION_FAILED", "projectSlug"},
		{"PATCH", "/api/projects/p", `{"codeMode":{"timeout":1}}`, 422, "VALIDATION_FAILED", "codeMode.timeout"},
		{"PATCH", "/api/projects/p", `{"createdAt":"2027-01-01T00:00:00Z"}`, 422, "VALIDATION_FAILED", "createdAt"},
		{"POST", "/api/projects/p/servers", `{"url":"https://x.example"}`, 422, "VALIDATION_FAILED", "alias"},
		{"POST", "/api/projects/p/servers", `{"alias":"x"}`, 422, "VALIDATION_FAILED", "url"},
		{"POST", "/api/projects/p/servers", `{"alias":"A","url":"https://x.example"}`, 409, "CONFLICT", "alias"},
		{"POST", "/api/projects/p/servers", `{"alias":"x","command":"sh"}`, 422, "VALIDATION_FAILED", "command"},
		{"POST", "/api/projects/p/servers", `{"alias":"x","url":"https://x.example","authBearer":"${GATEWAY_ADMIN_TOKEN}"}`, 422, "VALIDATION_FAILED", "authBearer"},
		{"POST", "/api/projects/zzz/servers", `{"alias":"x","url":"https://x.example"}`, 404, "NOT_FOUND", ""},
		{"PATCH", "/api/servers/" + id, `{"alias":"B"}`, 409, "CONFLICT", "alias"},
		{"PATCH", "/api/servers/" + id, `{"alias":"a__b"}`, 422, "VALIDATION_FAILED", "alias"},
		{"PATCH", "/api/servers/" + id, `{"lastSync":null}`, 422, "VALIDATION_FAILED", "lastSync"},
		{"PATCH", "/api/servers/" + id, `{"url":null}`, 422, "VALIDATION_FAILED", "url"},
	} {
		answer := a.admin(t, tc.method, tc.path, tc.body, tc.status, nil)
		var body struct {
			Code   string
			Fields map[string]string
		}
		if err := json.Unmarshal([]byte(answer.Body), &body); err != nil {
			t.Fatal(err)
		}
		if body.Code != tc.code || tc.field != "" && (len(body.Fields) != 1 || body.Fields[tc.field] == "") {
			t.Errorf("%s %s %s: %s", tc.method, tc.path, tc.body, answer.Body)
		}
	}
	header := map[string]string{"Authorization": "Bearer " + routestest.AdminToken, "Content-Type": "text/plain"}
	webtest.Check(t, webtest.Case{Status: 415}, webtest.Send(t, a.App.App, webtest.Case{Path: "/api/projects", Header: header, Body: `{"projectSlug":"q"}`}))
	var audit struct{ Count int }
	if a.admin(t, "GET", "/api/audit", "", 200, &audit); audit.Count != 3 { // one row for the apply
		t.Errorf("%d audit rows", audit.Count)
	}
}

type auditRow struct {
	Seq                                              int64
	Action, Object, ObjectID, ProjectSlug, RequestID string
	Actor                                            struct{ Kind, Name, IP string }
	Detail                                           map[string]string
}

type auditList struct {
	Items      []auditRow
	Count      int
	NextCursor *string
}

func TestAuditAPI(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		answer := a.admin(t, "POST", "/api/projects", `{"projectSlug":"p"}`, 201, nil)
		var s serverRecord
		a.admin(t, "POST", "/api/projects/p/servers", `{"alias":"x","url":"https://x.example"}`, 201, &s)
		a.admin(t, "PATCH", "/api/servers/"+s.ID, `{"enabled":false}`, 200, nil)
		var list auditList
		a.admin(t, "GET", "/api/audit?object="+s.ID, "", 200, &list)
		if list.Count != 2 || list.Items[0].Action != "server.updated" || list.Items[0].Detail["fields"] != "enabled" || list.Items[0].ProjectSlug != "p" || list.Items[0].Object != "x" {
			t.Errorf("listed %+v", list)
		}
		a.admin(t, "GET", "/api/audit?action=project.created&actor=token", "", 200, &list)
		if list.Count != 1 || list.Items[0].RequestID != answer.Header.Get("X-Request-Id") || list.Items[0].Actor.IP == "" || list.NextCursor != nil {
			t.Errorf("listed %+v", list)
		}
		seen, cursor := "", ""
		for {
			list = auditList{}
			a.admin(t, "GET", "/api/audit?project=p&limit=2&cursor="+cursor, "", 200, &list)
			for _, row := range list.Items {
				seen += row.Action + " "
			}
			a.admin(t, "PATCH", "/api/servers/"+s.ID, fmt.Sprintf(`{"timeout":%d}`, 1000+len(seen)), 200, nil)
			if list.NextCursor == nil {
				break
			}
			cursor = *list.NextCursor
		}
		if seen != "server.updated server.created project.created " {
			t.Errorf("pages = %s", seen)
		}
		for _, query := range []string{"project=q&cursor=" + cursor, "cursor=" + cursor, "cursor=x", "project=p&cursor=" + cursor + "A"} {
			webtest.Check(t, webtest.Case{WantBody: []string{`"code":"INVALID_CURSOR"`, `"restart":true`}}, a.admin(t, "GET", "/api/audit?"+query, "", 400, nil))
		}
		for _, query := range []string{"limit=0", "limit=1001", "limit=x", "since=yesterday", "until=7", "proj=p", "actor=" + strings.Repeat("x", 501)} {
			webtest.Check(t, webtest.Case{WantBody: []string{`"code":"INVALID_PARAMETER"`}}, a.admin(t, "GET", "/api/audit?"+query, "", 400, nil))
		}
		a.admin(t, "GET", "/api/audit?since=2001-01-01T00:00:00%2B02:00&until=2999-01-01T00:00:00Z&limit=1000", "", 200, &list)
		if _, err := a.Services.Audit.Verify(t.Context()); err != nil || list.Count < 5 {
			t.Errorf("%d rows, %v", list.Count, err)
		}
	})
}

func TestLogInjection(t *testing.T) {
	a := onSQLite(t)
	const forged = "x\r\n{\"level\":\"INFO\",\"msg\":\"forged\"}\u2028\x1b[31m"
	text, err := json.Marshal(forged)
	if err != nil {
		t.Fatal(err)
	}
	a.admin(t, "POST", "/api/projects", `{"projectSlug":"p","authMode":"none","name":`+string(text)+`,"description":`+string(text)+`}`, 201, nil)
	a.admin(t, "POST", "/api/projects", `{"projectSlug":`+string(text)+`}`, 422, nil)
	a.admin(t, "POST", "/api/projects/p/servers", `{"alias":`+string(text)+`,"url":`+string(text)+`}`, 422, nil)
	a.admin(t, "POST", "/api/projects/p/keys", `{"name":`+string(text)+`}`, 422, nil)
	a.rpc(t, "p", "", "tools/call", `{"name":`+string(text)+`,"arguments":{}}`)
	a.send(t, "GET", "/api/%0d%0a%7b%22msg%22:%22forged%22%7d?x=%0d%0aforged", "", "")
	webtest.Send(t, a.App.App, webtest.Case{Path: "/api/projects", Header: map[string]string{"User-Agent": forged[:1] + "forged", "X-Request-Id": "forged", "X-Forwarded-For": "forged"}})
	lines := strings.Split(strings.TrimSuffix(a.Log.String(), "\n"), "\n")
	requests := 0
	for _, line := range lines {
		var entry struct {
			Msg   string
			Level string
			Time  string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Time == "" {
			t.Errorf("line is not a log entry: %q", line)
		}
		if entry.Msg == "forged" {
			t.Errorf("forged line: %s", line)
		}
		if entry.Msg == "request" {
			requests++
		}
		if strings.ContainsAny(line, "\r\x1b") {
			t.Errorf("control characters in the log: %q", line)
		}
	}
	if requests != 7 {
		t.Errorf("%d requests in %d log lines", requests, len(lines))
	}
}
