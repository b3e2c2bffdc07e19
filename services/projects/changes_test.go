package projects_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/projects"
)

// audited returns the audit rows since the last call, as "action object/project fields".
func (s *store) audited(t tester) []string {
	t.Helper()
	var rows []models.AuditEntry
	if err := s.db.Order("seq").Find(&rows, "seq > ?", s.auditSeen).Error; err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, row := range rows {
		s.auditSeen = row.Seq
		line := row.Action + " " + row.Object
		for _, name := range []string{"fields", "servers", "keys"} {
			if v := row.Detail[name]; v != "" {
				line += " " + name + "=" + v
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func (s *store) wantAudit(t tester, want ...string) {
	t.Helper()
	if d := cmp.Diff(append([]string{}, want...), s.audited(t)); d != "" {
		t.Errorf("audit rows (-want +got):\n%s", d)
	}
}

func project(t tester, body string) *declaration.Project {
	t.Helper()
	_, d, err := declaration.ParseProject([]byte(body))
	if err != nil {
		t.Fatalf("%v %v: %s", err, fieldsOf(err), body)
	}
	return d
}

func server(t tester, body string) *declaration.Server {
	t.Helper()
	_, d, err := declaration.ParseServer([]byte(body))
	if err != nil {
		t.Fatalf("%v %v: %s", err, fieldsOf(err), body)
	}
	return d
}

func (s *store) create(t *testing.T, slug, body string) models.Project {
	t.Helper()
	saved, err := s.CreateProject(t.Context(), slug, project(t, body))
	if err != nil {
		t.Fatalf("%v %v", err, fieldsOf(err))
	}
	return saved.Project
}

func (s *store) add(t *testing.T, slug, alias, body string) models.Server {
	t.Helper()
	saved, err := s.AddServer(t.Context(), slug, alias, server(t, body))
	if err != nil {
		t.Fatalf("%v %v", err, fieldsOf(err))
	}
	return saved.Server
}

func TestProjectLifecycle(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		p := s.create(t, "work", `{"name":"Work","mcpServers":{"gh":{"url":"https://a.example"}}}`)
		topic := notify.Toolset(p.ID)
		if d := cmp.Diff([]notify.Topic{topic}, s.feed.take()); d != "" {
			t.Errorf("topics (-want +got):\n%s", d)
		}
		s.wantAudit(t, "project.created work", "server.created gh")
		if p.Name != "Work" || p.AuthMode != models.AuthAPIKey || p.CodeModeTimeoutMS != 30000 {
			t.Errorf("created = %+v", p)
		}
		saved, err := s.UpdateProject(t.Context(), "work", project(t, `{"authMode":"oauth","codeMode":{"enabled":true},"disabledTools":["gh__b","gh__a","gh__b"]}`))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"authMode", "codeMode.enabled", "disabledTools"}, saved.Fields); d != "" {
			t.Errorf("fields (-want +got):\n%s", d)
		}
		if got := saved.Project; got.Name != "Work" || got.AuthMode != models.AuthOAuth || !got.CodeModeEnabled || got.ID != p.ID || len(got.DisabledTools) != 2 {
			t.Errorf("updated = %+v", got)
		}
		s.wantAudit(t, "project.updated work fields=authMode, codeMode.enabled, disabledTools")
		s.feed.take()
		if saved, err = s.UpdateProject(t.Context(), "work", project(t, `{"authMode":"oauth"}`)); err != nil || len(saved.Fields) != 0 {
			t.Errorf("empty update: %v, %v", saved.Fields, err)
		}
		if topics := s.feed.take(); len(topics) != 0 {
			t.Errorf("empty update published %v", topics)
		}
		s.wantAudit(t)
		id := s.server(t, "work", "gh").ID
		s.addTools(t, id, "a")
		for _, row := range []any{&models.Inventory{ServerID: id, AttemptedAt: s.now}, &models.Key{ID: "k", ProjectID: p.ID, Hash: []byte{1}, CreatedAt: s.now}} {
			if err := s.db.Create(row).Error; err != nil {
				t.Fatal(err)
			}
		}
		if err := s.DeleteProject(t.Context(), "work"); err != nil {
			t.Fatal(err)
		}
		s.wantAudit(t, "project.deleted work servers=1 keys=1")
		if d := cmp.Diff([]notify.Topic{notify.Access(p.ID), notify.Connectors(p.ID), notify.Keys(p.ID), topic}, s.feed.take()); d != "" {
			t.Errorf("topics (-want +got):\n%s", d)
		}
		for _, owned := range []any{&models.Project{}, &models.Server{}, &models.Inventory{}, &models.Tool{}, &models.Key{}} {
			var n int64
			if err := s.db.Model(owned).Count(&n).Error; err != nil || n != 0 {
				t.Errorf("%d rows of %T are left: %v", n, owned, err)
			}
		}
		wantFault(t, s.DeleteProject(t.Context(), "work"), fault.CodeNotFound)
		_, err = s.UpdateProject(t.Context(), "work", project(t, `{}`))
		wantFault(t, err, fault.CodeNotFound)
	})
}

func TestProjectChangesAreValidated(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "work", `{}`)
		s.audited(t)
		before := s.everything(t)
		_, err := s.CreateProject(t.Context(), "work", project(t, `{}`))
		if f := wantFault(t, err, fault.CodeConflict); f.Fields["projectSlug"] == "" {
			t.Errorf("fields = %v", f.Fields)
		}
		for _, slug := range []string{"", "-a", "A", "a_b", "a b", strings.Repeat("a", 65)} {
			_, err := s.CreateProject(t.Context(), slug, project(t, `{}`))
			wantProblem(t, err, "lower-case", "projectSlug")
		}
		_, err = s.CreateProject(t.Context(), "new", project(t, `{"mcpServers":{"a":{},"b":{"url":"https://blocked.example"}}}`))
		wantProblem(t, err, "required", "mcpServers.a.url", "mcpServers.b.url")
		// Declarations that were not parsed follow the same rules.
		long, low := strings.Repeat("x", declaration.MaxName+1), int64(declaration.MinRunTimeoutMS-1)
		_, err = s.UpdateProject(t.Context(), "work", &declaration.Project{Name: &long, CodeModeTimeoutMS: &low, Servers: map[string]*declaration.Server{"a__b": {}, "n": nil}})
		wantProblem(t, err, "at most 100 characters", "name", "codeMode.timeout", "mcpServers.a__b", "mcpServers.n")
		if d := cmp.Diff(before, s.everything(t)); d != "" {
			t.Errorf("rejected changes were written (-before +after):\n%s", d)
		}
		s.wantAudit(t)
		s.create(t, strings.Repeat("a", 64), `{}`)
	})
}

func TestServerLifecycle(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		p := s.create(t, "work", `{}`)
		s.audited(t)
		s.feed.take()
		row := s.add(t, "work", "GitHub", `{"url":"https://a.example","authBearer":"c4nary","headers":{"x-key":"c4nary","X-Ref":"${MCP_UPSTREAM_A}"}}`)
		if row.AuthType != models.UpstreamAuthBearer || row.AuthBearer == "" || strings.Contains(row.AuthBearer, "c4nary") || row.ConfigVersion != 1 || row.ProjectID != p.ID {
			t.Errorf("added = %+v", row)
		}
		s.wantAudit(t, "server.created GitHub")
		if d := cmp.Diff([]notify.Topic{notify.Toolset(p.ID)}, s.feed.take()); d != "" {
			t.Errorf("topics (-want +got):\n%s", d)
		}
		change := func(body string) projects.SavedServer {
			t.Helper()
			alias, d, err := declaration.ParseServer([]byte(body))
			if err != nil {
				t.Fatal(err, fieldsOf(err))
			}
			saved, err := s.UpdateServer(t.Context(), row.ID, alias, d)
			if err != nil {
				t.Fatal(err, fieldsOf(err))
			}
			return saved
		}
		saved := change(`{"enabled":false,"denyTools":["delete_*"],"headers":{"X-Key":""}}`)
		if saved.Server.Enabled || saved.Server.AuthBearer != row.AuthBearer || len(saved.Server.Headers) != 1 || saved.Server.ConfigVersion != 2 || saved.Project != "work" {
			t.Errorf("updated = %+v", saved.Server)
		}
		s.wantAudit(t, "server.updated GitHub fields=headers.X-Key, denyTools, enabled")
		if saved = change(`{"authBearer":"c4nary","url":"https://a.example"}`); len(saved.Fields) != 0 || saved.Server.ConfigVersion != 2 {
			t.Errorf("an update with equal values changed %v", saved.Fields)
		}
		s.wantAudit(t)
		if saved = change(`{"authBearer":""}`); saved.Server.AuthBearer != "" || len(saved.Server.Headers) != 1 {
			t.Errorf("cleared = %+v", saved.Server)
		}
		s.audited(t)
		s.addTools(t, row.ID, "a")
		if err := s.DeleteServer(t.Context(), row.ID); err != nil {
			t.Fatal(err)
		}
		s.wantAudit(t, "server.deleted GitHub")
		wantFault(t, s.DeleteServer(t.Context(), row.ID), fault.CodeNotFound)
		_, err := s.UpdateServer(t.Context(), row.ID, nil, server(t, `{}`))
		wantFault(t, err, fault.CodeNotFound)
		var entries []models.AuditEntry
		if err := s.db.Find(&entries).Error; err != nil || strings.Contains(fmt.Sprint(entries), "c4nary") {
			t.Errorf("the audit log contains a secret: %v %v", entries, err)
		}
	})
}

func TestServerChangesAreValidated(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "work", `{}`)
		a := s.add(t, "work", "a", `{"url":"https://a.example"}`)
		s.add(t, "work", "B", `{"url":"https://b.example"}`)
		s.audited(t)
		before := s.everything(t)
		_, err := s.AddServer(t.Context(), "zzz", "x", server(t, `{"url":"https://x.example"}`))
		wantFault(t, err, fault.CodeNotFound)
		for _, alias := range []string{"a", "A", "b"} {
			_, err := s.AddServer(t.Context(), "work", alias, server(t, `{"url":"https://x.example"}`))
			if f := wantFault(t, err, fault.CodeConflict); f.Fields["alias"] == "" {
				t.Errorf("%s: fields = %v", alias, f.Fields)
			}
		}
		taken := "b"
		_, err = s.UpdateServer(t.Context(), a.ID, &taken, server(t, `{}`))
		if f := wantFault(t, err, fault.CodeConflict); f.Fields["alias"] == "" {
			t.Errorf("fields = %v", f.Fields)
		}
		for _, alias := range []string{"", "x__y", "gateway", "-x", strings.Repeat("x", 65)} {
			_, err := s.AddServer(t.Context(), "work", alias, server(t, `{"url":"https://x.example"}`))
			wantProblem(t, err, "", "alias")
			_, err = s.UpdateServer(t.Context(), a.ID, &alias, server(t, `{}`))
			wantProblem(t, err, "", "alias")
		}
		_, err = s.AddServer(t.Context(), "work", "x__y", server(t, `{"authBearer":"${GATEWAY_ADMIN_TOKEN}","headers":{"Host":"x"}}`))
		wantProblem(t, err, "", "alias", "url", "authBearer", "headers.Host")
		long, big := strings.Repeat("x", declaration.MaxURL+1), int64(declaration.MaxTimeoutMS+1)
		_, err = s.UpdateServer(t.Context(), a.ID, nil, &declaration.Server{URL: &long, TimeoutMS: &big})
		wantProblem(t, err, "", "url", "timeout")
		if d := cmp.Diff(before, s.everything(t)); d != "" {
			t.Errorf("rejected changes were written (-before +after):\n%s", d)
		}
		s.wantAudit(t)
	})
}

func TestServerLimitPerProject(t *testing.T) {
	s := sqliteStore(t)
	var entries []string
	for i := range declaration.MaxServers - 1 {
		entries = append(entries, fmt.Sprintf(`"s%d":{"url":"https://x.example"}`, i))
	}
	s.create(t, "work", `{"mcpServers":{`+strings.Join(entries, ",")+`}}`)
	s.add(t, "work", "last", `{"url":"https://x.example"}`)
	_, err := s.AddServer(t.Context(), "work", "more", server(t, `{"url":"https://x.example"}`))
	wantFault(t, err, fault.CodeConflict)
}

func TestNewAliasRenamesTools(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "work", `{"disabledTools":["gh__a","gh__b__c","ghx__a","GH__a"]}`)
		row := s.add(t, "work", "gh", `{"url":"https://a.example"}`)
		s.addTools(t, row.ID, "a", "b__c", "d")
		for _, alias := range []string{"GitHub", "github"} {
			saved, err := s.UpdateServer(t.Context(), row.ID, &alias, server(t, `{}`))
			if err != nil {
				t.Fatal(err)
			}
			if len(saved.Warnings) != 1 || saved.Warnings[0].Code != projects.WarnToolsRenamed || !strings.Contains(saved.Warnings[0].Message, alias+"__") {
				t.Errorf("warnings = %v", saved.Warnings)
			}
			p, err := s.Project(t.Context(), "work")
			if err != nil {
				t.Fatal(err)
			}
			want := models.StringList{"GH__a", alias + "__a", alias + "__b__c", "ghx__a"}
			if alias == "github" {
				want = models.StringList{"GH__a", "ghx__a", alias + "__a", alias + "__b__c"}
			}
			if d := cmp.Diff(want, p.DisabledTools); d != "" {
				t.Errorf("%s: disabled tools (-want +got):\n%s", alias, d)
			}
		}
		// A declarative file renames by changing the case of the alias.
		s.apply(t, `{"projects":{"work":{"mcpServers":{"GITHUB":{"url":"https://a.example"}}}}}`)
		p, err := s.Project(t.Context(), "work")
		if err != nil || !cmp.Equal(p.DisabledTools, models.StringList{"GH__a", "GITHUB__a", "GITHUB__b__c", "ghx__a"}) {
			t.Errorf("disabled tools = %v, %v", p.DisabledTools, err)
		}
	})
}

func TestSharedCredentialsOfEveryChange(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		shared := func(warnings []fault.Warning, servers string) {
			t.Helper()
			want := []fault.Warning(nil)
			if servers != "" {
				want = []fault.Warning{{Code: projects.WarnShared, Message: "Project p has authMode none: anyone who can reach its endpoint uses the credentials of " + servers + "."}}
			}
			if d := cmp.Diff(want, warnings); d != "" {
				t.Errorf("warnings (-want +got):\n%s", d)
			}
		}
		s.create(t, "p", `{"mcpServers":{"plain":{"url":"https://a.example"},"b":{"url":"https://b.example","authBearer":"secret"}}}`)
		s.audited(t)
		saved, err := s.UpdateProject(t.Context(), "p", project(t, `{"authMode":"none"}`))
		if err != nil {
			t.Fatal(err)
		}
		shared(saved.Warnings, "b")
		s.wantAudit(t, "project.updated p fields=authMode", "project.credentials_shared p servers=b")
		// The warning stays but is recorded only once.
		if saved, err = s.UpdateProject(t.Context(), "p", project(t, `{"name":"P"}`)); err != nil {
			t.Fatal(err)
		}
		shared(saved.Warnings, "b")
		s.wantAudit(t, "project.updated p fields=name")
		added, err := s.AddServer(t.Context(), "p", "a", server(t, `{"url":"https://a.example","headers":{"X-Key":"secret"}}`))
		if err != nil {
			t.Fatal(err)
		}
		shared(added.Warnings, "a, b")
		s.wantAudit(t, "server.created a", "project.credentials_shared p servers=a, b")
		plain := s.server(t, "p", "plain")
		changed, err := s.UpdateServer(t.Context(), plain.ID, nil, server(t, `{"authType":"oauth"}`))
		if err != nil {
			t.Fatal(err)
		}
		shared(changed.Warnings, "a, b, plain")
		s.wantAudit(t, "server.updated plain fields=authType", "project.credentials_shared p servers=a, b, plain")
		all, err := s.SharedCredentials(t.Context())
		if d := cmp.Diff([]projects.SharedCredentials{{Project: "p", Servers: []string{"a", "b", "plain"}}}, all); d != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
		if plan := s.apply(t, `{"projects":{"p":{}}}`); len(plan.Warnings) != 1 || len(plan.Shared) != 1 {
			t.Errorf("plan warnings = %v", plan.Warnings)
		}
		s.wantAudit(t)
		// A new alias shares nothing new.
		alias := "renamed"
		if _, err = s.UpdateServer(t.Context(), plain.ID, &alias, server(t, `{}`)); err != nil {
			t.Fatal(err)
		}
		s.wantAudit(t, "server.updated renamed fields=alias")
		if saved, err = s.UpdateProject(t.Context(), "p", project(t, `{"authMode":"api_key"}`)); err != nil {
			t.Fatal(err)
		}
		shared(saved.Warnings, "")
		if all, err = s.SharedCredentials(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("%v, %v", all, err)
		}
	})
}

func TestApplyAuditsEveryChange(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		file := `{"projects":{"a":{"mcpServers":{"x":{"url":"https://x.example"},"y":{"url":"https://y.example"}}},"b":{}}}`
		s.apply(t, file, projects.ApplyOptions{DryRun: true})
		s.wantAudit(t)
		s.apply(t, file)
		s.wantAudit(t, "project.created a", "server.created x", "server.created y", "project.created b")
		s.apply(t, file)
		s.wantAudit(t)
		s.apply(t, `{"projects":{"a":{"name":"A","mcpServers":{"x":{"url":"https://z.example","authBearer":"c4nary"}}}}}`, projects.ApplyOptions{Prune: true})
		s.wantAudit(t, "project.updated a fields=name", "server.updated x fields=url, authBearer", "server.deleted y", "project.deleted b servers=0 keys=0")
		if _, err := activity.NewAudit(s.db, nil).Verify(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestToolSettingsAreAudited(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "p", `{"mcpServers":{"s":{"url":"https://x.example"}}}`)
		s.addTools(t, s.server(t, "p", "s").ID, "a")
		s.audited(t)
		yes, no := true, false
		for _, step := range []struct {
			enabled, approved *bool
			want              []string
		}{
			{&yes, nil, nil}, {&no, nil, []string{"tool.disabled s__a"}}, {&no, nil, nil}, {&yes, &yes, []string{"tool.enabled s__a", "tool.approved s__a"}},
			{nil, &yes, nil}, {nil, &no, []string{"tool.approval_withdrawn s__a"}}, {nil, &no, nil},
		} {
			if err := s.SetTool(t.Context(), "p", "s__a", step.enabled, step.approved); err != nil {
				t.Fatal(err)
			}
			s.wantAudit(t, step.want...)
		}
	})
}

func TestWritersOfProjectAreSerialized(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.create(t, "p", `{"mcpServers":{"s":{"url":"https://x.example"}}}`)
		id := s.server(t, "p", "s").ID
		s.addTools(t, id, "a")
		var writing sync.WaitGroup
		off := false
		for i := range 6 {
			writing.Go(func() {
				if _, err := s.AddServer(t.Context(), "p", "same", server(t, `{"url":"https://x.example"}`)); err != nil && !fault.Is(err, fault.CodeConflict) {
					t.Error(err)
				}
			})
			writing.Go(func() {
				if _, err := s.CreateProject(t.Context(), "same", project(t, `{}`)); err != nil && !fault.Is(err, fault.CodeConflict) {
					t.Error(err)
				}
			})
			writing.Go(func() {
				timeout := int64(1000 + i)
				if _, err := s.UpdateServer(t.Context(), id, nil, &declaration.Server{TimeoutMS: &timeout}); err != nil {
					t.Error(err)
				}
			})
			writing.Go(func() {
				if err := s.SetTool(t.Context(), "p", "s__a", &off, nil); err != nil {
					t.Error(err)
				}
			})
		}
		writing.Wait()
		if _, err := activity.NewAudit(s.db, nil).Verify(t.Context()); err != nil {
			t.Error(err)
		}
		created := map[string]int{}
		for _, line := range s.audited(t) {
			created[line]++
		}
		if created["server.created same"] != 1 || created["project.created same"] != 1 || created["tool.disabled s__a"] != 1 {
			t.Errorf("audit rows = %v", created)
		}
	})
}

func TestTouchesCredentials(t *testing.T) {
	with := models.Server{URL: "https://a.example", AuthType: models.UpstreamAuthBearer, AuthBearer: "sealed", OAuthClientID: "id", OAuthClientSecret: "sealed"}
	without := models.Server{URL: "https://a.example", AuthType: models.UpstreamAuthNone}
	for _, tc := range []struct {
		row  models.Server
		body string
		want bool
	}{
		{with, `{}`, false}, {with, `{"enabled":false,"timeout":1000,"denyTools":["x"],"url":"https://a.example","authType":"bearer","oauth":{"clientId":"id"}}`, false},
		{with, `{"url":"https://b.example"}`, true}, {without, `{"url":"https://b.example"}`, false}, {with, `{"authType":"none"}`, true},
		{with, `{"authBearer":""}`, true}, {without, `{"authBearer":""}`, false}, {without, `{"authBearer":"x"}`, true}, {without, `{"headers":{"X":"y"}}`, true}, {without, `{"headers":{}}`, false},
		{with, `{"oauth":{"clientId":"other"}}`, true}, {with, `{"oauth":{"clientSecret":""}}`, true}, {without, `{"oauth":{"clientSecret":""}}`, false},
		{models.Server{}, `{"url":"https://a.example","authType":"none"}`, false}, {models.Server{}, `{"url":"https://a.example","authBearer":"x"}`, true},
	} {
		if got := projects.TouchesCredentials(tc.row, server(t, tc.body)); got != tc.want {
			t.Errorf("%s over %+v: %v", tc.body, tc.row, got)
		}
	}
}
