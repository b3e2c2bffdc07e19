package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/notify"
	"mcpgateway/services/projects"
	"mcpgateway/services/upstream/upstreamtest"
)

type toolsetRecord struct {
	Slug, ProjectSlug, Name, Description, Query, ToolExposure string
	Include, Exclude, OffersOf                                []string
	Tools, Total                                              int
	Endpoints                                                 struct{ Request, SSE string }
	Warnings                                                  []struct{ Code, Message string }
}

type preview struct {
	Items []struct {
		Name, Server, Title string
		Hidden              bool
	}
	Count, Total int
	Warnings     []struct {
		Code string
		Span *struct{ Start, End int }
	}
}

func (p preview) names() (names []string) {
	for _, item := range p.Items {
		names = append(names, item.Name)
	}
	return names
}

// annotated returns a tool with an annotation.
func annotated(name, hint string) upstreamtest.Tool {
	return tool(name, `,"title":"The `+name+`","annotations":{"`+hint+`":true}`)
}

// toolsetWorld applies a project with three tools.
func toolsetWorld(t *testing.T, a *app, mode string) {
	t.Helper()
	a.up.SetTools(annotated("get_it", "readOnlyHint"), annotated("delete_it", "destructiveHint"), tool("put_it", `,"annotations":{"destructiveHint":false}`))
	a.project(t, "p", mode, "")
}

const toolsetsURL = "/api/projects/p/toolsets"

func TestToolsetIsCreatedChangedAndDeleted(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		toolsetWorld(t, a, "none")
		var r toolsetRecord
		answer := a.admin(t, "POST", toolsetsURL, `{"slug":"reader","name":"Reader","query":" server:UP readonly:true "}`, 201, &r)
		if r.Slug != "reader" || r.Name != "Reader" || r.Query != "server:UP readonly:true" || r.Tools != 1 || r.Total != 3 || !strings.HasSuffix(r.Endpoints.Request, "/v1/mcp/p/toolsets/reader/request") {
			t.Errorf("created %s", answer.Body)
		}
		list := a.send(t, "POST", "/v1/mcp/p/toolsets/reader/request", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`).Body
		if !strings.Contains(list, "up__get_it") || strings.Contains(list, "up__put_it") || !strings.Contains(list, "searchMcpForTask") {
			t.Errorf("the endpoint lists %s", list)
		}
		a.admin(t, "PATCH", toolsetsURL+"/reader", `{"include":["up__put_*"],"exclude":["up__get_it"],"slug":"reader"}`, 200, &r)
		if r.Tools != 1 || !slices.Equal(r.Include, []string{"up__put_*"}) || r.Query == "" {
			t.Errorf("changed %+v", r)
		}
		a.admin(t, "PATCH", toolsetsURL+"/reader", `{"slug":"other"}`, 422, nil)
		a.admin(t, "POST", toolsetsURL, `{"slug":"reader"}`, 409, nil)
		a.admin(t, "GET", toolsetsURL+"/nothing", "", 404, nil)
		a.admin(t, "GET", "/api/projects/zzz/toolsets", "", 404, nil)
		a.admin(t, "PATCH", toolsetsURL+"/nothing", "{}", 404, nil)
		var all struct{ Items []toolsetRecord }
		if a.admin(t, "GET", toolsetsURL, "", 200, &all); len(all.Items) != 1 || all.Items[0].Slug != "reader" {
			t.Errorf("list %+v", all)
		}
		a.admin(t, "DELETE", toolsetsURL+"/reader", "", 204, nil)
		a.admin(t, "DELETE", toolsetsURL+"/reader", "", 404, nil)
		if got := actions(t, a, "toolset"); !slices.Equal(got, []string{"toolset.created reader", "toolset.updated reader", "toolset.deleted reader"}) {
			t.Errorf("audit %q", got)
		}
	})
}

// actions returns the actions of an area and their objects, oldest first.
func actions(t *testing.T, a *app, area string) (all []string) {
	t.Helper()
	var rows []models.AuditEntry
	if err := a.Services.DB.Order("seq").Find(&rows, "action LIKE ?", area+".%").Error; err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		all = append(all, row.Action+" "+row.Object)
	}
	return all
}

func TestToolsetIsValidated(t *testing.T) {
	a := onSQLite(t)
	toolsetWorld(t, a, "none")
	quoted := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`"up__%d"`, i)
		}
		return strings.Join(list, ",")
	}
	for body, want := range map[string]string{
		`{}`:                               "slug",
		`{"slug":"Reader"}`:                "slug",
		`{"slug":"-a"}`:                    "slug",
		`{"slug":"a","query":"issues"}`:    "query 0-6",
		`{"slug":"a","query":"  -x"}`:      "query 2-4",
		`{"slug":"a","query":"type:tool"}`: "query 0-9",
		`{"slug":"a","query":"readonly:true entity:tool"}`:                             "query 14-25",
		`{"slug":"a","query":"srver:x"}`:                                               "query 0-7",
		`{"slug":"a","query":"readonly:maybe"}`:                                        "query 0-14",
		`{"slug":"a","queri":"server:x"}`:                                              "queri",
		`{"slug":"a","include":[""]}`:                                                  "include[0]",
		`{"slug":"a","offersOf":["a b"]}`:                                              "offersOf[0]",
		`{"slug":"a","toolExposure":"some"}`:                                           "toolExposure",
		`{"slug":"a","tools":3}`:                                                       "tools",
		`{"slug":"a","include":[` + quoted(501) + `]}`:                                 "include",
		`{"slug":"a","include":[` + quoted(250) + `],"exclude":[` + quoted(251) + `]}`: "exclude",
	} {
		answer := a.admin(t, "POST", toolsetsURL, body, 422, nil)
		var e struct {
			Code   string
			Fields map[string]string
			Span   *struct{ Start, End int }
		}
		if err := json.Unmarshal([]byte(answer.Body), &e); err != nil {
			t.Fatal(err)
		}
		got := ""
		for field := range e.Fields {
			got += field
		}
		if e.Span != nil {
			got += fmt.Sprintf(" %d-%d", e.Span.Start, e.Span.End)
		}
		if e.Code != "VALIDATION_FAILED" || got != want {
			t.Errorf("%.60s: %s, want %s", body, answer.Body, want)
		}
	}
	a.admin(t, "POST", toolsetsURL, `{"slug":"a","include":[`+quoted(250)+`],"exclude":[`+quoted(250)+`]}`, 201, nil)
	a.admin(t, "PATCH", toolsetsURL+"/a", `{"include":[`+quoted(251)+`]}`, 422, nil)
	a.admin(t, "PATCH", toolsetsURL+"/a", `{"include":[`+quoted(249)+`]}`, 200, nil)
}

func TestToolsetLimitOfAProject(t *testing.T) {
	a := onSQLite(t)
	var sets []string
	for i := range 99 {
		sets = append(sets, fmt.Sprintf(`"s%d":{}`, i))
	}
	a.Apply(t, `{"projects":{"p":{"mcpServers":{},"toolsets":{`+strings.Join(sets, ",")+`}}}}`)
	a.admin(t, "POST", toolsetsURL, `{"slug":"last"}`, 201, nil)
	answer := a.admin(t, "POST", toolsetsURL, `{"slug":"more"}`, 422, nil)
	if !strings.Contains(answer.Body, "at most 100 toolsets") {
		t.Error(answer.Body)
	}
	if _, err := applyTo(t, a.App, `{"projects":{"p":{"toolsets":{"more":{}}}}}`); err == nil {
		t.Error("a file exceeds the limit")
	}
}

func TestToolsetPreview(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		toolsetWorld(t, a, "none")
		a.admin(t, "PATCH", "/api/projects/p/tools/up__put_it", `{"enabled":false}`, 200, nil)
		for body, want := range map[string][]string{
			`{}`:                            nil,
			`{"query":"readonly:true"}`:     {"up__get_it"},
			`{"query":"-destructive:true"}`: {"up__get_it", "up__put_it"},
			`{"query":"server:up","exclude":["*__delete_*"]}`:  {"up__get_it", "up__put_it"},
			`{"query":"name:get","include":["up__delete_?t"]}`: {"up__delete_it", "up__get_it"},
			`{"include":["get_it","UP__*"]}`:                   nil,
			`{"query":"name:\"the delete\"","offersOf":["*"]}`: {"up__delete_it"},
			`{"include":["*"],"exclude":["*"]}`:                nil,
		} {
			var p preview
			a.admin(t, "POST", toolsetsURL+"/preview", body, 200, &p)
			got := p.names()
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" || p.Count != len(want) || p.Total != 3 {
				t.Errorf("%s: %+v %s", body, p, d)
			}
			for _, item := range p.Items {
				if item.Server != "up" || item.Hidden != (item.Name == "up__put_it") || item.Name == "up__get_it" && item.Title != "The get_it" {
					t.Errorf("%s: %+v", body, item)
				}
			}
		}
		var p preview
		a.admin(t, "POST", toolsetsURL+"/preview", `{"query":"server:upp","offersOf":["zzz"]}`, 200, &p)
		if len(p.Warnings) != 2 || p.Warnings[0].Code != "SERVER_UNKNOWN" || p.Warnings[0].Span == nil || p.Warnings[0].Span.End != 10 {
			t.Errorf("warnings %+v", p.Warnings)
		}
		a.admin(t, "POST", toolsetsURL+"/preview", `{"name":"x"}`, 422, nil)
		a.admin(t, "POST", toolsetsURL+"/preview", `{"query":"x"}`, 422, nil)
		a.admin(t, "POST", "/api/projects/zzz/toolsets/preview", `{}`, 404, nil)
	})
}

// bind limits a key to toolsets.
func bind(t *testing.T, a *app, keyID string, slugs ...string) {
	t.Helper()
	p, err := a.Services.Directory.Project("p")
	if err != nil {
		t.Fatal(err)
	}
	db := a.Services.DB
	err = db.Model(&models.Key{}).Where("id = ?", keyID).Update("scope", models.KeyToolsets).Error
	for _, slug := range slugs {
		row, getErr := a.Services.Toolsets.Get(t.Context(), p.Project.ID, slug)
		if getErr != nil {
			t.Fatal(getErr)
		}
		if err == nil {
			err = db.Create(&models.KeyToolset{KeyID: keyID, ToolsetID: row.ID}).Error
		}
	}
	if err == nil {
		err = a.Services.KeyIndex.Changed(t.Context(), notify.Keys(p.Project.ID))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestToolsetInUse(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		toolsetWorld(t, a, "api_key")
		a.admin(t, "POST", toolsetsURL, `{"slug":"reader","query":"readonly:true"}`, 201, nil)
		a.admin(t, "POST", toolsetsURL, `{"slug":"writer","include":["*"]}`, 201, nil)
		onlyID, only := a.Key(t, "p", 0)
		bothID, both := a.Key(t, "p", 0)
		bind(t, a, onlyID, "reader")
		bind(t, a, bothID, "reader", "writer")
		p, err := a.Services.Directory.Project("p")
		if err != nil {
			t.Fatal(err)
		}
		reader, err := a.Services.Toolsets.Get(t.Context(), p.Project.ID, "reader")
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().UTC().Truncate(time.Millisecond)
		for _, g := range []models.ProjectGrant{
			{ID: "g1", SubjectKind: models.SubjectPerson, SubjectID: addPerson(t, a, "ada@example.com")},
			{ID: "g2", SubjectKind: models.SubjectGroup, SubjectID: "some group"},
			{ID: "g3", SubjectKind: models.SubjectGroup, SubjectID: "other group"},
		} {
			g.ProjectID, g.ToolsetID, g.Role, g.CreatedAt = p.Project.ID, reader.ID, models.GrantUse, now
			if err := a.Services.DB.Create(&g).Error; err != nil {
				t.Fatal(err)
			}
		}
		answer := a.admin(t, "DELETE", toolsetsURL+"/reader", "", 409, nil)
		var e struct{ Fields map[string]string }
		if err := json.Unmarshal([]byte(answer.Body), &e); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string]string{"keys": "2", "people": "1", "groups": "2"}, e.Fields); d != "" {
			t.Error(d)
		}
		if _, err := applyTo(t, a.App, `{"projects":{"p":{"toolsets":{}}}}`); err != nil {
			t.Fatalf("a file without prune: %v", err)
		}
		d, err := declaration.Parse([]byte(`{"projects":{"p":{"toolsets":{"writer":{}},"mcpServers":{"up":{}}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Services.Projects.Apply(t.Context(), d, projects.ApplyOptions{Prune: true}); err == nil || !strings.Contains(err.Error(), "reader is in use") {
			t.Errorf("prune of a toolset in use: %v", err)
		}
		if a.listedTools(t, "p", only) == "" {
			t.Error("the key is revoked too early")
		}
		a.admin(t, "DELETE", toolsetsURL+"/reader?force=true", "", 204, nil)
		if got := a.rpc(t, "p", only, "tools/list", "{}"); got.Status != 401 {
			t.Errorf("key without a toolset: %d %s", got.Status, got.Body)
		}
		if got := a.listedTools(t, "p", both); !strings.Contains(got, "up__put_it") {
			t.Errorf("key with another toolset lists %s", got)
		}
		if got := a.send(t, "POST", "/v1/mcp/p/toolsets/reader/request", both, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); got.Status != 404 {
			t.Errorf("endpoint of the deleted toolset: %d", got.Status)
		}
		var left int64
		if err := a.Services.DB.Model(&models.ProjectGrant{}).Where("toolset_id = ?", reader.ID).Count(&left).Error; err != nil || left > 0 {
			t.Errorf("%d grants left, %v", left, err)
		}
		if got := actions(t, a, "key"); !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "key.revoked") }) {
			t.Errorf("audit %q", got)
		}
	})
}

func addPerson(t *testing.T, a *app, email string) string {
	t.Helper()
	row := models.User{ID: "u-" + email, Email: email, EmailFold: email, Role: models.RoleMember, CreatedAt: time.Now().UTC().Truncate(time.Millisecond)}
	if err := a.Services.DB.Create(&row).Error; err != nil {
		t.Fatal(err)
	}
	return row.ID
}

func TestTokensOfADeletedToolsetEnd(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		toolsetWorld(t, a, "oauth")
		a.admin(t, "POST", toolsetsURL, `{"slug":"reader"}`, 201, nil)
		p, err := a.Services.Directory.Project("p")
		if err != nil {
			t.Fatal(err)
		}
		reader, err := a.Services.Toolsets.Get(t.Context(), p.Project.ID, "reader")
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now().UTC().Truncate(time.Millisecond)
		user := addPerson(t, a, "ada@example.com")
		client := models.OAuthClient{ID: "c", Kind: models.ClientRegistered, Name: "App", SecretHash: []byte{}, CreatedAt: now}
		if err := a.Services.DB.Create(&client).Error; err != nil {
			t.Fatal(err)
		}
		for id, toolset := range map[string]string{"ends": reader.ID, "stays": ""} {
			grant := models.OAuthGrant{ID: id, ClientID: "c", UserID: user, ProjectID: p.Project.ID, ToolsetID: toolset, CreatedAt: now, LastUsedAt: now, ExpiresAt: now.Add(time.Hour)}
			code := models.OAuthCode{Hash: []byte(id), GrantID: id, ClientID: "c", UserID: user, ProjectID: p.Project.ID, ToolsetID: toolset, CreatedAt: now, ExpiresAt: now.Add(time.Minute)}
			if err := a.Services.DB.Create(&grant).Error; err != nil {
				t.Fatal(err)
			}
			if err := a.Services.DB.Create(&code).Error; err != nil {
				t.Fatal(err)
			}
		}
		a.admin(t, "DELETE", toolsetsURL+"/reader", "", 204, nil)
		var live, codes []string
		if err := a.Services.DB.Model(&models.OAuthGrant{}).Where("revoked_at IS NULL").Pluck("id", &live).Error; err != nil {
			t.Fatal(err)
		}
		if err := a.Services.DB.Model(&models.OAuthCode{}).Pluck("grant_id", &codes).Error; err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(live, []string{"stays"}) || !slices.Equal(codes, []string{"stays"}) {
			t.Errorf("live grants %q, codes %q", live, codes)
		}
	})
}

func TestSyncThatMovesMembersWarns(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		toolsetWorld(t, a, "none")
		a.admin(t, "POST", toolsetsURL, `{"slug":"reader","query":"readonly:true"}`, 201, nil)
		a.admin(t, "POST", toolsetsURL, `{"slug":"static","include":["up__put_it"]}`, 201, nil)
		// read_it comes, put_it changes its text, get_it goes.
		a.up.SetTools(annotated("read_it", "readOnlyHint"), tool("put_it", `,"description":"new","annotations":{"destructiveHint":false}`))
		a.Sync(t, "p", "up")
		var rows []models.AuditEntry
		if err := a.Services.DB.Find(&rows, "action = ?", "toolset.members_changed").Error; err != nil || len(rows) != 1 {
			t.Fatalf("%d entries, %v", len(rows), err)
		}
		want := models.StringMap{"server": "up", "joined": "1", "left": "1", "joinedTools": "up__read_it", "leftTools": "up__get_it"}
		if d := cmp.Diff(want, rows[0].Detail); d != "" || rows[0].Object != "reader" || rows[0].Project != "p" {
			t.Errorf("%+v %s", rows[0], d)
		}
		warned := func() (codes []string) {
			var r toolsetRecord
			a.admin(t, "GET", toolsetsURL+"/reader", "", 200, &r)
			for _, w := range r.Warnings {
				codes = append(codes, w.Code)
			}
			return codes
		}
		if got := warned(); !slices.Equal(got, []string{"TOOLSET_CHANGED"}) {
			t.Errorf("warnings %q", got)
		}
		if got := a.admin(t, "GET", "/api/projects/p", "", 200, nil).Body; strings.Count(got, "TOOLSET_CHANGED") != 1 {
			t.Errorf("the project says %s", got)
		}
		a.Sync(t, "p", "up") // nothing moves
		a.admin(t, "PATCH", toolsetsURL+"/reader", `{"query":"readonly:true"}`, 200, nil)
		if got := warned(); len(got) != 0 {
			t.Errorf("warnings after saving %q", got)
		}
	})
}

func TestToolsetsAreExportedAndApplied(t *testing.T) {
	each(t, func(t *testing.T, a *app) {
		file := fmt.Sprintf(`{"projects":{"p":{"authMode":"none","mcpServers":{"up":{"url":%q}},"toolsets":{
			"all":{"include":["*"]},"empty":{},
			"reader":{"name":"Reader","description":"reads","query":"server:up -destructive:true","exclude":["*__delete_*"],"offersOf":["*","up"],"toolExposure":"builtin"}}}}}`, a.url)
		a.Apply(t, file)
		export := func() string {
			text, err := a.Services.Projects.Export(t.Context(), "p")
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		first := export()
		var parsed struct {
			Projects map[string]struct{ Toolsets json.RawMessage }
		}
		if err := json.Unmarshal([]byte(first), &parsed); err != nil {
			t.Fatal(err)
		}
		var got, want any
		_ = json.Unmarshal(parsed.Projects["p"].Toolsets, &got)
		_ = json.Unmarshal([]byte(`{"all":{"include":["*"]},"empty":{},"reader":{"name":"Reader","description":"reads","query":"server:up -destructive:true","exclude":["*__delete_*"],"offersOf":["*","up"],"toolExposure":"builtin"}}`), &want)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("exported (-want +got):\n%s", d)
		}
		plan, err := applyTo(t, a.App, first)
		if err != nil || export() != first {
			t.Fatalf("applied again: %v\n%s", err, export())
		}
		for _, c := range plan.Changes {
			if c.Action != projects.ActionKeep {
				t.Errorf("applying the export changes %+v", c)
			}
		}
		if _, err := applyTo(t, a.App, `{"projects":{"p":{"name":"P"}}}`); err != nil || strings.Count(export(), `"include"`) != 1 {
			t.Errorf("a file without toolsets changes them: %v", err)
		}
		d, err := declaration.Parse([]byte(`{"projects":{"p":{"mcpServers":{"up":{}},"toolsets":{"reader":{"query":"readonly:true"}}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if plan, err = a.Services.Projects.Apply(t.Context(), d, projects.ApplyOptions{Prune: true}); err != nil {
			t.Fatal(err)
		}
		var changed []string
		for _, c := range plan.Changes {
			if c.Toolset != "" {
				changed = append(changed, fmt.Sprint(c.Action, " ", c.Toolset, " ", c.Fields))
			}
		}
		if d := cmp.Diff([]string{"delete all []", "delete empty []", "update reader [query]"}, changed); d != "" {
			t.Error(d)
		}
		for _, bad := range []string{`{"toolsets":{"A":{}}}`, `{"toolsets":{"a":{"querry":"x"}}}`, `{"toolsets":{"a":{"query":"x"}}}`, `{"toolsets":[]}`} {
			if _, err := declaration.Parse([]byte(`{"projects":{"p":` + bad + `}}`)); err == nil {
				t.Errorf("%s is accepted", bad)
			}
		}
	})
}
