package projects_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/projects"
)

const twoServers = `{"projects":{"p":{"name":"P","authMode":"api_key","mcpServers":{
	"b":{"url":"https://b.example/mcp","headers":{"x-key":"s3cret"}},
	"A":{"url":"https://a.example/mcp","authBearer":"${MCP_UPSTREAM_A}","allowedTools":["get_*"]}}}}}`

func changes(actions ...string) []projects.Change {
	var out []projects.Change
	for _, a := range actions {
		words := strings.Fields(a)
		c := projects.Change{Action: projects.Action(words[0])}
		c.Project, c.Server, _ = strings.Cut(words[1], "/")
		if len(words) > 2 {
			c.Fields = words[2:]
		}
		out = append(out, c)
	}
	return out
}

func wantPlan(t *testing.T, plan projects.Plan, actions ...string) {
	t.Helper()
	if d := cmp.Diff(changes(actions...), plan.Changes); d != "" {
		t.Errorf("plan (-want +got):\n%s", d)
	}
}

func TestApplyCreates(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		wantPlan(t, s.apply(t, twoServers), "create p", "create p/A", "create p/b")
		p, err := s.Project(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		want := models.Project{
			ID: p.ID, Slug: "p", Name: "P", AuthMode: models.AuthAPIKey, OAuthAccess: models.OAuthAnyone, CodeModeTimeoutMS: 30_000, ToolExposure: models.ExposeFull,
			DisabledTools: models.StringList{}, Limits: models.LimitList{}, ToolNames: models.NamesPrefixed, PersonalKeysMaxDays: 365, SecretRefs: models.StringList{}, RetentionCalls: 7, RetentionPayloads: 3, RetentionRuns: 200,
			CreatedAt: s.now, UpdatedAt: s.now,
		}
		if d := cmp.Diff(want, p); d != "" {
			t.Errorf("project (-want +got):\n%s", d)
		}
		a := s.server(t, "p", "A")
		wantServer := models.Server{
			ID: a.ID, ProjectID: p.ID, Alias: "A", AliasFold: "a", URL: "https://a.example/mcp", URLSecrets: models.StringList{}, Transport: models.TransportAuto,
			AuthType: models.UpstreamAuthBearer, AuthBearer: "${MCP_UPSTREAM_A}", Headers: models.StringMap{}, AllowedTools: models.StringList{"get_*"},
			DenyTools: models.StringList{}, Enabled: true, TimeoutMS: 60_000, MaxConcurrent: 512, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow,
			OAuthScopes: models.StringList{}, Connection: models.ConnectionShared, PersonalHeaders: models.StringList{}, ForwardHeaders: models.StringMap{}, ProtocolVersion: "auto", TaskTimeoutMS: 600_000, ConfigVersion: 1, CreatedAt: s.now, UpdatedAt: s.now,
		}
		if d := cmp.Diff(wantServer, a); d != "" {
			t.Errorf("server (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]notify.Topic{notify.Toolset(p.ID)}, s.feed.take()); d != "" {
			t.Errorf("announced (-want +got):\n%s", d)
		}
	})
}

func TestNewProjectDefaults(t *testing.T) {
	s := sqliteStore(t)
	s.apply(t, `{"projects":{"fresh":{}}}`)
	p, err := s.Project(t.Context(), "fresh")
	if err != nil || p.Name != "fresh" || p.AuthMode != models.AuthAPIKey {
		t.Errorf("stored %+v, %v", p, err)
	}
}

func TestSecondApplyChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, twoServers)
		before := s.everything(t)
		s.feed.take()
		s.now = s.now.Add(time.Hour)
		wantPlan(t, s.apply(t, twoServers), "keep p", "keep p/A", "keep p/b")
		wantPlan(t, s.apply(t, twoServers, projects.ApplyOptions{Prune: true}), "keep p", "keep p/A", "keep p/b")
		if d := cmp.Diff(before, s.everything(t)); d != "" {
			t.Errorf("stored (-want +got):\n%s", d)
		}
		if topics := s.feed.take(); len(topics) > 0 {
			t.Errorf("published topics: %v", topics)
		}
	})
}

func TestApplyUpdatesDeclaredFields(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, twoServers)
		before, untouched := s.server(t, "p", "b"), s.server(t, "p", "A")
		s.feed.take()
		s.now = s.now.Add(time.Hour)
		plan := s.apply(t, `{"projects":{"p":{"description":"new","codeMode":{"enabled":true},"rateLimit":{"perSecond":2.5,"burst":5},"limits":[{"per":"tool","perDay":3}],
			"mcpServers":{"B":{"timeout":1000,"enabled":false,"denyTools":["x"],"headers":{"X-More":"1"},"url":"https://b.example/mcp"}}}}}`)
		wantPlan(t, plan, "update p description codeMode.enabled rateLimit.perSecond rateLimit.burst limits", "update p/B alias headers.X-More denyTools enabled timeout")
		after := s.server(t, "p", "B") // the alias is stored as last spelled
		if after.ID != before.ID || after.ConfigVersion != before.ConfigVersion+1 || !after.CreatedAt.Equal(before.CreatedAt) || !after.UpdatedAt.After(before.UpdatedAt) {
			t.Errorf("from %+v to %+v", before, after)
		}
		if after.Headers["X-Key"] != before.Headers["X-Key"] || len(after.Headers) != 2 || after.Enabled || after.TimeoutMS != 1000 {
			t.Errorf("stored %+v", after)
		}
		if d := cmp.Diff(untouched, s.server(t, "p", "A")); d != "" {
			t.Errorf("other server (-want +got):\n%s", d)
		}
		p, err := s.Project(t.Context(), "p")
		if err != nil || p.Name != "P" || p.Description != "new" || !p.CodeModeEnabled || p.RatePerSecond != 2.5 || p.RateBurst != 5 || len(p.Limits) != 1 || p.Limits[0] != (models.Limit{Per: models.PerTool, Match: "*", PerDay: 3}) || !p.UpdatedAt.After(p.CreatedAt) {
			t.Errorf("stored %+v, %v", p, err)
		}
		if topics := s.feed.take(); len(topics) != 1 {
			t.Errorf("published topics: %v", topics)
		}
	})
}

func TestDryRunWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, twoServers)
		s.feed.take()
		before := s.everything(t)
		file := `{"projects":{"p":{"authMode":"none","mcpServers":{"A":{"enabled":false},"new":{"url":"https://n.example"}}},"q":{}}}`
		plan := s.apply(t, file, projects.ApplyOptions{DryRun: true, Prune: true})
		wantPlan(t, plan, "update p authMode", "update p/A enabled", "create p/new", "delete p/b", "create q")
		if len(plan.Warnings) != 1 {
			t.Errorf("warnings = %q", plan.Warnings)
		}
		if d := cmp.Diff(before, s.everything(t)); d != "" {
			t.Errorf("stored (-want +got):\n%s", d)
		}
		if topics := s.feed.take(); len(topics) > 0 {
			t.Errorf("published topics: %v", topics)
		}
		_, err := s.tryApply(t, `{"projects":{"p":{"mcpServers":{"x":{}}}}}`, projects.ApplyOptions{DryRun: true})
		wantProblem(t, err, "required", "projects.p.mcpServers.x.url")
		wantPlan(t, s.apply(t, file, projects.ApplyOptions{Prune: true}), "update p authMode", "update p/A enabled", "create p/new", "delete p/b", "create q")
	})
}

func TestPruneDeletesUndeclared(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, `{"projects":{"keep":{"mcpServers":{"a":{"url":"https://a.example"},"b":{"url":"https://b.example"}}},"gone":{"mcpServers":{"c":{"url":"https://c.example"}}}}}`)
		gone, err := s.Project(t.Context(), "gone")
		if err != nil {
			t.Fatal(err)
		}
		s.addTools(t, s.server(t, "gone", "c").ID, "x")
		s.addTools(t, s.server(t, "keep", "b").ID, "y")
		if err := s.db.Create(&models.Key{ID: "k", ProjectID: gone.ID, Hash: []byte("h"), CreatedAt: s.now}).Error; err != nil {
			t.Fatal(err)
		}
		file := `{"projects":{"keep":{"mcpServers":{"a":{}}}}}`
		s.feed.take()
		wantPlan(t, s.apply(t, file), "keep keep", "keep keep/a") // without prune
		wantPlan(t, s.apply(t, file, projects.ApplyOptions{Prune: true}), "keep keep", "keep keep/a", "delete keep/b", "delete gone")
		keep, err := s.Project(t.Context(), "keep")
		if err != nil {
			t.Fatal(err)
		}
		topics := map[notify.Topic]bool{}
		for _, topic := range s.feed.take() {
			topics[topic] = true
		}
		for _, topic := range []notify.Topic{notify.Toolset(keep.ID), notify.Toolset(gone.ID), notify.Keys(gone.ID)} {
			if !topics[topic] {
				t.Errorf("%s was not published", topic)
			}
		}
		_, err = s.Project(t.Context(), "gone")
		wantFault(t, err, fault.CodeNotFound)
		for _, table := range []any{&models.Tool{}, &models.Key{}} {
			var left int64
			if err := s.db.Model(table).Count(&left).Error; err != nil || left != 0 {
				t.Errorf("%d rows of %T are left, %v", left, table, err)
			}
		}
		wantPlan(t, s.apply(t, file, projects.ApplyOptions{Prune: true}), "keep keep", "keep keep/a")
		wantPlan(t, s.apply(t, `{"projects":{}}`, projects.ApplyOptions{Prune: true}), "delete keep")
	})
}

func TestInvalidFieldsWriteNothing(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, twoServers)
		before := s.everything(t)
		s.feed.take()
		_, err := s.tryApply(t, `{"projects":{"other":{"name":"O"},"p":{"name":"changed","mcpServers":{
			"A":{"url":"http://`+blocked+`/mcp","authBearer":"${HOME}","headers":{"Host":"x","X-Key":"a\u0001b","bad name":"x","X-Fine":"y"}},
			"new":{"authBearer":"a\nb"},
			"b":{"oauth":{"clientSecret":"${GATEWAY_ADMIN_TOKEN}"}}}}}}`)
		const a, n, b = "projects.p.mcpServers.A.", "projects.p.mcpServers.new.", "projects.p.mcpServers.b."
		wantProblem(t, err, "may not be reached", a+"url", a+"authBearer", a+"headers.Host", a+"headers.X-Key", a+"headers.bad name",
			n+"url", n+"authBearer", b+"oauth.clientSecret")
		if d := cmp.Diff(before, s.everything(t)); d != "" {
			t.Errorf("stored (-want +got):\n%s", d)
		}
		if topics := s.feed.take(); len(topics) > 0 {
			t.Errorf("published topics: %v", topics)
		}
	})
}

func TestGatewayHeadersAreRejected(t *testing.T) {
	s := sqliteStore(t)
	for _, name := range []string{
		"host", "Content-Type", "content-length", "Transfer-Encoding", "CONNECTION", "te", "Accept", "accept-encoding", "Mcp-Session-Id",
		"MCP-Protocol-Version", "mcp-method", "Mcp-Name", "Mcp-Param-Region", "mcp-param-x", "Last-Event-ID", "Proxy-Authorization", "Upgrade",
	} {
		_, err := s.tryApply(t, inServer(`"headers":{`+quote(name)+`:"x"}`))
		wantProblem(t, err, "this header is set by the gateway", "projects.p.mcpServers.s.headers."+name)
	}
	for _, name := range []string{"", " ", "a b", "a:b", "é", "a\r\nb"} {
		_, err := s.tryApply(t, inServer(`"headers":{`+quote(name)+`:"x"}`))
		wantProblem(t, err, "not a valid header name", "projects.p.mcpServers.s.headers."+name)
	}
	s.apply(t, inServer(`"headers":{"Authorization":"Basic x","x-api-key":"y","Cookie":"z"}`))
	if h := s.server(t, "p", "s").Headers; h["Authorization"] == "" || h["X-Api-Key"] == "" || h["Cookie"] == "" || len(h) != 3 {
		t.Errorf("stored %v", h)
	}
}

func TestHeaderNamesAreUniqueIgnoringCase(t *testing.T) {
	s := sqliteStore(t)
	_, err := s.tryApply(t, inServer(`"headers":{"X-Key":"1","x-key":"2"}`))
	wantProblem(t, err, `"X-Key" already exists`, "projects.p.mcpServers.s.headers.x-key")
}

func TestHeaderLimitAcrossApplies(t *testing.T) {
	s := sqliteStore(t)
	name := func(prefix string) func(int) string {
		return func(i int) string { return fmt.Sprint("X-", prefix, i) }
	}
	s.apply(t, inServer(`"headers":`+object(31, name("a"), `"v"`)))
	s.apply(t, inServer(`"headers":`+object(1, name("b"), `"v"`)))
	_, err := s.tryApply(t, inServer(`"headers":`+object(1, name("c"), `"v"`)))
	wantProblem(t, err, "too many", "projects.p.mcpServers.s.headers")
	s.apply(t, inServer(`"headers":{"X-b0":"","X-c0":"v"}`))
}

func TestServerLimitAcrossApplies(t *testing.T) {
	s := sqliteStore(t)
	file := func(prefix string, n int) string {
		return inProject(`"mcpServers":` + object(n, func(i int) string { return fmt.Sprint(prefix, i) }, `{"url":"https://up.example"}`))
	}
	s.apply(t, file("a", declaration.MaxServers-1))
	s.apply(t, file("b", 1))
	_, err := s.tryApply(t, file("c", 1))
	wantProblem(t, err, "at most 200", "projects.p.mcpServers")
	s.apply(t, file("c", 1), projects.ApplyOptions{Prune: true})
}

func TestURLIsCheckedOnChange(t *testing.T) {
	s := sqliteStore(t)
	s.apply(t, inServer(`"enabled":true`))
	if err := s.db.Model(&models.Server{}).Where("alias = ?", "s").Update("url", "http://"+blocked).Error; err != nil {
		t.Fatal(err)
	}
	// A URL that was saved under older rules doesn't prevent other changes.
	s.apply(t, inProject(`"mcpServers":{"s":{"url":"http://`+blocked+`","enabled":false}}`))
	_, err := s.tryApply(t, inProject(`"mcpServers":{"s":{"url":"http://`+blocked+`/other"}}`))
	wantProblem(t, err, "may not be reached", "projects.p.mcpServers.s.url")
	_, err = s.tryApply(t, inProject(`"mcpServers":{"s":{"url":""}}`))
	wantProblem(t, err, "required", "projects.p.mcpServers.s.url")
}

func TestPublicSharedCreds(t *testing.T) {
	s := sqliteStore(t)
	for _, tc := range []struct {
		name, mode, server string
		warns              bool
	}{
		{"bearer", "none", `"authType":"bearer","authBearer":"x"`, true},
		{"bearer reference", "none", `"authBearer":"${MCP_UPSTREAM_A}"`, true},
		{"bearer without a value", "none", `"authType":"bearer"`, false},
		{"a bearer that is not sent", "none", `"authType":"none","authBearer":"x"`, false},
		{"headers", "none", `"headers":{"X-A":"x"}`, true},
		{"oauth", "none", `"authType":"oauth"`, true},
		{"nothing", "none", `"timeout":1000`, false},
		{"with keys", "api_key", `"authBearer":"x"`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := `{"projects":{"p":{"authMode":"` + tc.mode + `","mcpServers":{"s":{"url":"https://up.example",` + tc.server + `}}}}}`
			s.apply(t, `{"projects":{}}`, projects.ApplyOptions{Prune: true})
			for range 2 { // standing: repeated when the apply changes nothing
				plan := s.apply(t, file)
				if tc.warns != (len(plan.Shared) == 1) || len(plan.Warnings) != len(plan.Shared)+len(plan.Missing) {
					t.Fatalf("warnings = %q", plan.Warnings)
				}
				if tc.warns && (!strings.Contains(plan.Warnings[0], "Project p has authMode none") || !strings.Contains(plan.Warnings[0], "credentials of s")) {
					t.Errorf("warning = %q", plan.Warnings[0])
				}
			}
		})
	}
}

func TestApplyReturnsPublishError(t *testing.T) {
	s := sqliteStore(t)
	s.feed.err = errors.New("publish failed")
	if _, err := s.tryApply(t, twoServers); !errors.Is(err, s.feed.err) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Project(t.Context(), "p"); err != nil {
		t.Errorf("the published change is not committed: %v", err)
	}
}

func TestCancelledApplyWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Apply(ctx, parse(t, twoServers), projects.ApplyOptions{}); err == nil {
			t.Error("a cancelled apply succeeded")
		}
		if _, err := s.Project(t.Context(), "p"); !fault.Is(err, fault.CodeNotFound) {
			t.Errorf("got %v", err)
		}
	})
}
