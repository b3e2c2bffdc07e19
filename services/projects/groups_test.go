package projects_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/projects"
)

// exportedGroups returns the groups of an export as JSON.
func (s *store) exportedGroups(t *testing.T, people bool) string {
	t.Helper()
	raw, err := s.ExportWith(t.Context(), projects.ExportOptions{People: people})
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups json.RawMessage `json:"groups"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(file.Groups)), "")
}

func groupPlan(t *testing.T, plan projects.Plan, want ...string) {
	t.Helper()
	var got []string
	for _, c := range plan.Changes {
		got = append(got, strings.TrimSpace(string(c.Action)+" "+c.Group+" "+strings.Join(c.Fields, ",")))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("plan (-want +got):\n%s", d)
	}
}

func TestApplyGroups(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		for _, row := range []models.User{
			{ID: "a", Email: "ann@example.com", EmailFold: "ann@example.com", Role: models.RoleMember},
			{ID: "b", Email: "Bob@example.com", EmailFold: "bob@example.com", Role: models.RoleMember},
			{ID: "c", Name: "Without an address", EmailFold: "id:c", Role: models.RoleMember},
		} {
			if err := s.db.Create(&row).Error; err != nil {
				t.Fatal(err)
			}
		}
		in := func(groups string) string { return `{"groups":` + groups + `,"projects":{}}` }
		groupPlan(t, s.apply(t, in(`{"eng":{"claim":"eng-id","role":"member","members":["ANN@example.com"]},"Leads":{"claim":"leads-id"}}`)), "create Leads", "create eng")
		var leads models.Group
		if err := s.db.First(&leads, "name = 'Leads'").Error; err != nil {
			t.Fatal(err)
		}
		if err := s.db.Create(&models.GroupMember{GroupID: leads.ID, UserID: "c", Via: models.ViaLocal}).Error; err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"group.created Leads", "group.created eng", "group.member_added eng"}, s.audited(t)); d != "" {
			t.Errorf("audit log (-want +got):\n%s", d)
		}
		const whole = `{"Leads":{"claim":"leads-id"},"eng":{"claim":"eng-id","role":"member","members":["ann@example.com"]}}`
		if got := s.exportedGroups(t, true); got != whole {
			t.Errorf("export with people = %s", got)
		}
		if got := s.exportedGroups(t, false); got != strings.Replace(whole, `,"members":["ann@example.com"]`, "", 1) {
			t.Errorf("export = %s", got)
		}
		for _, people := range []bool{true, false} {
			groupPlan(t, s.apply(t, in(s.exportedGroups(t, people)), projects.ApplyOptions{Prune: true}), "keep Leads", "keep eng")
		}
		groupPlan(t, s.apply(t, `{"projects":{}}`, projects.ApplyOptions{Prune: true})) // a file without the key keeps all
		groupPlan(t, s.apply(t, in(`{}`)))
		const change = `{"ENG":{"claim":"leads-id","role":"","members":["bob@example.com"]},"Leads":{"claim":"eng-id"}}` // exchanges the claims
		groupPlan(t, s.apply(t, in(change), projects.ApplyOptions{DryRun: true}), "update ENG name,claim,role,members", "update Leads claim")
		if got := s.exportedGroups(t, true); got != whole {
			t.Errorf("export after a dry run = %s", got)
		}
		groupPlan(t, s.apply(t, in(change)), "update ENG name,claim,role,members", "update Leads claim")
		groupPlan(t, s.apply(t, in(`{"Leads":{"members":[]}}`), projects.ApplyOptions{Prune: true}), "delete ENG", "keep Leads")
		var members []models.GroupMember
		if err := s.db.Find(&members).Error; err != nil || len(members) != 1 || members[0].UserID != "c" {
			t.Errorf("members = %+v, %v, want the one without an address", members, err)
		}
		if got := s.exportedGroups(t, true); got != `{"Leads":{"claim":"eng-id"}}` {
			t.Errorf("export = %s", got)
		}
		s.audited(t)
	})
}

func TestApplyRejectsGroups(t *testing.T) {
	s := sqliteStore(t)
	s.apply(t, `{"groups":{"eng":{"claim":"eng-id"}},"projects":{}}`)
	for _, tt := range []struct{ file, path, why string }{
		{`{"groups":{"x":{"claims":"y"}},"projects":{}}`, "groups.x.claims", "did you mean claim?"},
		{`{"groups":{"x":{"role":"owner"}},"projects":{}}`, "groups.x.role", "use one of"},
		{`{"groups":{"x":{"claim":"` + strings.Repeat("x", 257) + `"}},"projects":{}}`, "groups.x.claim", "256"},
		{`{"groups":{"x":{"claim":" y"}},"projects":{}}`, "groups.x.claim", "spaces"},
		{`{"groups":{"x":{"claim":"eng-id"}},"projects":{}}`, "groups.x.claim", "already has this claim"},
		{`{"groups":{"x":{"members":["eve@example.com"]}},"projects":{}}`, "groups.x.members", "eve@example.com"},
		{`{"groups":{"x":{},"X":{}},"projects":{}}`, "groups.X", "unique"},
		{`{"groups":{" x":{}},"projects":{}}`, "groups. x", "printable"},
		{`{"groups":[],"projects":{}}`, "groups", "use an object"},
		{`{"groups":{}}`, "projects", "missing"},
	} {
		d, err := declaration.Parse([]byte(tt.file))
		if err == nil {
			_, err = s.Apply(t.Context(), d, projects.ApplyOptions{})
		}
		wantProblem(t, err, tt.why, tt.path)
	}
	if got := s.exportedGroups(t, true); got != `{"eng":{"claim":"eng-id"}}` {
		t.Errorf("export after rejected files = %s", got)
	}
}
