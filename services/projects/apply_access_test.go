package projects_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/access/grants"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
)

// shared declares a project with everything that concerns its users.
const shared = `{"groups":{"eng":{"claim":"eng-id","role":"member","members":["ann@example.com"]},"leads":{}},
	"projects":{"work":{"authMode":"oauth","oauthAccess":"members","personalKeys":{"enabled":true,"maxDays":30},"secretRefs":["WORK_*"],
		"limits":[{"per":"person","match":"github__*","perSecond":2,"burst":4,"perDay":100}],
		"toolsets":{"reader":{"query":"server:github -destructive:true","exclude":["*__delete_*"]},"writer":{"include":["github__*"],"offersOf":["*"]}},
		"access":{"people":{"ANN@example.com":["writer","reader"],"bob@example.com":"project"},"groups":{"eng":["reader"],"leads":"project"},
			"maintainers":["bob@example.com"],"maintainerGroups":["leads"]},
		"mcpServers":{"github":{"url":"https://mcp.example.com","tools":{"get":{"as":"fetch","defaults":{"n":1},"fixed":{"org":"acme"}}}}}}}}`

// sharedAccess is the exported access of shared, with people.
const sharedAccess = `{"people":{"Ann@example.com":["reader","writer"],"bob@example.com":"project"},"groups":{"eng":["reader"],"leads":"project"},` +
	`"maintainers":["bob@example.com"],"maintainerGroups":["leads"]}`

var pruned = projects.ApplyOptions{Prune: true}

// people adds users with the email addresses.
func (s *store) people(t *testing.T, emails ...string) {
	t.Helper()
	for _, email := range emails {
		row := models.User{ID: "id of " + email, Email: email, EmailFold: strings.ToLower(email), Role: models.RoleMember}
		if err := s.db.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
	}
}

// file returns the export with people.
func (s *store) file(t *testing.T) string {
	t.Helper()
	raw, err := s.ExportWith(t.Context(), projects.ExportOptions{People: true})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// accessOf returns the access of a project in an export, as JSON.
func accessOf(t *testing.T, file, slug string) string {
	t.Helper()
	var parsed struct {
		Projects map[string]struct{ Access json.RawMessage }
	}
	if err := json.Unmarshal([]byte(file), &parsed); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(parsed.Projects[slug].Access)), "")
}

// unchanged fails the test if the plan changes something.
func unchanged(t *testing.T, plan projects.Plan) {
	t.Helper()
	for _, c := range plan.Changes {
		if c.Action != projects.ActionKeep {
			t.Errorf("changed %+v", c)
		}
	}
}

// TestExportOfSharedProject applies an export with people to the same
// installation and to another one.
func TestExportOfSharedProject(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.people(t, "Ann@example.com", "bob@example.com")
		s.apply(t, shared)
		first := s.file(t)
		if d := cmp.Diff(sharedAccess, accessOf(t, first, "work")); d != "" {
			t.Errorf("access (-want +got):\n%s", d)
		}
		for _, part := range []string{`"perDay": 100`, `"maxDays": 30`, `"WORK_*"`, `"as": "fetch"`, `"org": "acme"`, `"claim": "eng-id"`, `"*__delete_*"`} {
			if !strings.Contains(first, part) {
				t.Errorf("the export lacks %s", part)
			}
		}
		s.audited(t)
		unchanged(t, s.apply(t, first, pruned))
		if again := s.file(t); again != first || len(s.audited(t)) > 0 {
			t.Errorf("applied again (-want +got):\n%s", cmp.Diff(first, again))
		}
		s.apply(t, `{"groups":{},"projects":{}}`, pruned)
		if left := s.file(t); left != "{\n  \"projects\": {}\n}\n" {
			t.Fatalf("left: %s", left)
		}
		s.apply(t, first, pruned)
		if again := s.file(t); again != first {
			t.Errorf("another installation (-want +got):\n%s", cmp.Diff(first, again))
		}

		withoutPeople := s.export(t, "")
		if strings.Contains(withoutPeople, "@example.com") || accessOf(t, withoutPeople, "work") != `{"groups":{"eng":["reader"],"leads":"project"},"maintainerGroups":["leads"]}` {
			t.Errorf("export without people: %s", withoutPeople)
		}
		unchanged(t, s.apply(t, withoutPeople, pruned))
		if again := s.file(t); again != first {
			t.Errorf("applied without people (-want +got):\n%s", cmp.Diff(first, again))
		}
	})
}

func TestApplyAccess(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.people(t, "Ann@example.com", "bob@example.com")
		s.apply(t, shared)
		whole := s.file(t)
		for _, kept := range []string{`{"projects":{"work":{}}}`, `{"projects":{"work":{"access":{}}}}`, `{"projects":{"other":{}}}`} {
			if s.apply(t, kept); accessOf(t, s.file(t), "work") != sharedAccess {
				t.Errorf("%s changes the access: %s", kept, accessOf(t, s.file(t), "work"))
			}
		}
		s.apply(t, whole, pruned)
		s.audited(t)
		const change = `{"projects":{"work":{"access":{"groups":{"eng":"project"},"maintainers":[]}}}}`
		const changed = `{"people":{"Ann@example.com":["reader","writer"],"bob@example.com":"project"},"groups":{"eng":"project"},"maintainerGroups":["leads"]}`
		if s.apply(t, change, projects.ApplyOptions{DryRun: true}); s.file(t) != whole {
			t.Error("a dry run changes something")
		}
		plan := s.apply(t, change)
		if last := plan.Changes[len(plan.Changes)-1]; last.Action != projects.ActionUpdate || cmp.Diff([]string{"access.groups", "access.maintainers"}, last.Fields) != "" {
			t.Errorf("plan %+v", plan.Changes)
		}
		if d := cmp.Diff(changed, accessOf(t, s.file(t), "work")); d != "" {
			t.Errorf("replaced (-want +got):\n%s", d)
		}
		removed := 0
		for _, action := range s.audited(t) {
			if strings.HasPrefix(action, "access.removed") {
				removed++
			}
		}
		if removed != 3 { // of eng, leads and bob
			t.Errorf("%d grants removed in the audit log", removed)
		}
		unchanged(t, s.apply(t, change))
		s.apply(t, `{"projects":{"work":{"access":{"people":{},"groups":{},"maintainers":[],"maintainerGroups":[]}}}}`)
		if got := accessOf(t, s.file(t), "work"); got != "" {
			t.Errorf("removed access leaves %s", got)
		}
	})
}

func TestPruneOfToolsetsInUse(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.people(t, "Ann@example.com", "bob@example.com")
		s.apply(t, shared)
		before := s.file(t)
		in := func(more string) string {
			return `{"projects":{"work":{"mcpServers":{"github":{}},"toolsets":{"reader":{},"third":{}}` + more + `}}}`
		}
		if s.apply(t, in("")); !strings.Contains(s.file(t), `"writer"`) {
			t.Error("without pruning a toolset is deleted")
		}
		s.apply(t, before, pruned)
		for _, access := range []string{"", `,"access":{}`, `,"access":{"groups":{}}`} {
			_, err := s.tryApply(t, in(access), pruned)
			f := wantFault(t, err, fault.CodeConflict)
			if d := cmp.Diff(map[string]string{"keys": "0", "people": "1", "groups": "0"}, f.Fields); d != "" {
				t.Errorf("%s: %s", access, d)
			}
		}
		_, err := s.tryApply(t, in(`,"access":{"people":{"nobody@example.com":["third"]}}`), pruned)
		wantProblem(t, err, "no user", "projects.work.access.people.nobody@example.com")
		plan := s.apply(t, in(`,"access":{"people":{"ann@example.com":["third"]}}`), pruned)
		var got []string
		for _, c := range plan.Changes {
			if c.Toolset != "" {
				got = append(got, fmt.Sprint(c.Action, " ", c.Toolset))
			}
		}
		if d := cmp.Diff([]string{"keep reader", "create third", "delete writer"}, got); d != "" {
			t.Errorf("a file that frees the toolset (-want +got):\n%s", d)
		}
		want := `{"people":{"Ann@example.com":["third"]},"groups":{"eng":["reader"],"leads":"project"},"maintainers":["bob@example.com"],"maintainerGroups":["leads"]}`
		if d := cmp.Diff(want, accessOf(t, s.file(t), "work")); d != "" {
			t.Errorf("access (-want +got):\n%s", d)
		}
	})
}

func TestProblemsOfSharedProjects(t *testing.T) {
	s := sqliteStore(t)
	s.people(t, "Ann@example.com", "bob@example.com")
	s.apply(t, shared)
	before := s.file(t)
	for _, tt := range []struct{ project, path, why string }{
		{`"access":{"people":{"eve@example.com":"project"}}`, "access.people.eve@example.com", "no user"},
		{`"access":{"groups":{"none":"project"}}`, "access.groups.none", "no group"},
		{`"access":{"groups":{"eng":["reader","none"]}}`, "access.groups.eng", `no toolset "none"`},
		{`"access":{"groups":{"eng":[]}}`, "access.groups.eng", `use "project"`},
		{`"access":{"groups":{"eng":"all"}}`, "access.groups.eng", `"project"`},
		{`"access":{"groups":["eng"]}`, "access.groups", "use an object"},
		{`"access":{"maintainers":["eve@example.com"]}`, "access.maintainers.eve@example.com", "no user"},
		{`"access":{"maintainerGroups":["none"]}`, "access.maintainerGroups.none", "no group"},
		{`"access":{"maintainer":[]}`, "access.maintainer", "did you mean"},
		{`"access":[]`, "access", "use an object"},
		{`"toolsets":{"x":{"query":"delete"}}`, "toolsets.x.query", ""},
		{`"toolsets":{"x":{"exclud":[]}}`, "toolsets.x.exclud", "did you mean exclude"},
		{`"limits":[{"per":"tool","perDay":1},{"per":"tools","perDay":1}]`, "limits[1].per", "use one of"},
		{`"personalKeys":{"maxDays":0}`, "personalKeys.maxDays", ""},
		{`"personalKeys":{"on":true}`, "personalKeys.on", "unknown key"},
		{`"mcpServers":{"github":{"tools":{"get":{"as":"a b"}}}}`, "mcpServers.github.tools.get.as", ""},
		{`"mcpServers":{"github":{"tools":{"get":{"fix":{}}}}}`, "mcpServers.github.tools.get.fix", "did you mean fixed"},
	} {
		_, err := s.tryParsed(t, `{"projects":{"work":{`+tt.project+`}}}`)
		wantProblem(t, err, tt.why, "projects.work."+tt.path)
	}
	if after := s.file(t); after != before {
		t.Errorf("rejected files changed something (-want +got):\n%s", cmp.Diff(before, after))
	}
}

// TestMostGrants declares as many grants as a project can have, and one more.
func TestMostGrants(t *testing.T) {
	s := sqliteStore(t)
	const perGroup = 100 // toolsets
	slugs := make([]string, perGroup)
	for i := range slugs {
		slugs[i] = fmt.Sprintf("t%d", i)
	}
	all, err := json.Marshal(slugs)
	if err != nil {
		t.Fatal(err)
	}
	const groups = grants.Max / perGroup
	group := func(i int) string { return fmt.Sprintf("g%d", i) }
	file := func(access string) string {
		return `{"groups":` + object(groups+1, group, `{}`) + `,"projects":{"work":{"toolsets":` + object(perGroup, func(i int) string { return slugs[i] }, `{}`) + `,"access":{"groups":` + access + `}}}}`
	}
	most := object(groups, group, string(all))
	s.apply(t, file(most))
	before := s.file(t)
	_, err = s.tryApply(t, file(strings.TrimSuffix(most, "}")+`,"`+group(groups)+`":["t0"]}`))
	wantProblem(t, err, "at most 1000 grants", "projects.work.access")
	if s.file(t) != before {
		t.Error("too many grants are stored")
	}
	fewer := strings.TrimSuffix(object(groups-1, group, string(all)), "}")
	s.apply(t, file(fewer+`,"`+group(groups)+`":["t0"]}`))
}
