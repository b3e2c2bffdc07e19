package groups_test

import (
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/access/rights"
)

// TestGroupsGiveToolsets signs a user in with a group that holds a toolset,
// with the group again, and without it. The group expires in between.
func TestGroupsGiveToolsets(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.user(t, "ada")
		project := accesstest.Project("p", models.AuthAPIKey)
		check(t, w.db.Create(project).Error)
		g := w.create(t, "Engineering", "eng", models.RoleViewer)
		check(t, w.db.Create(&models.ProjectGrant{
			ID: "g", ProjectID: "p", SubjectKind: models.SubjectGroup, SubjectID: g.ID, ToolsetID: "reader", Role: models.GrantUse, CreatedAt: w.Now(),
		}).Error)
		index := rights.NewIndex(w.db, w.index)
		w.feed.Subscribe(index.Changed)
		check(t, index.Load(t.Context()))
		signIn := func(values ...string) func() {
			return func() { check(t, w.Replace(t.Context(), "ada", groups.Report{Values: values})) }
		}
		for _, step := range []struct {
			name string
			do   func()
			want bool
		}{
			{"before the first sign-in", func() {}, false},
			{"with the group", signIn("other", "eng"), true},
			{"before the maximum age", func() { w.Advance(maxAge - time.Millisecond) }, true},
			{"at the maximum age", func() { w.Advance(time.Millisecond) }, false},
			{"with the group again", signIn("eng"), true},
			{"without the group", signIn("other"), false},
			{"as a local member", func() { check(t, w.AddMember(t.Context(), g.ID, "ada")) }, true},
			{"after the deletion of the group", func() { check(t, w.Delete(t.Context(), g.ID)) }, false},
		} {
			step.do()
			held := index.Held(project, "ada")
			if held.Has("reader") != step.want || held.None() == step.want || held.Everything || held.Has("writer") {
				t.Errorf("%s: held %+v, want the toolset: %t", step.name, held, step.want)
			}
		}
		admin := models.RoleAdmin
		leads := w.create(t, "Leads", "", admin)
		check(t, w.AddMember(t.Context(), leads.ID, "ada"))
		if held := index.Held(project, "ada"); !held.Everything || !held.Maintains {
			t.Errorf("in a group of administrators: held %+v", held)
		}
	})
}
