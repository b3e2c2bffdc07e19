package rights_test

import (
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/rights"
	"mcpgateway/services/notify"
)

// groups are the groups of each user. A user in the group admins is an
// administrator.
type groups map[string][]string

func (g groups) Of(userID string, own models.Role) ([]string, models.Role) {
	for _, id := range g[userID] {
		if id == "admins" {
			own = models.RoleAdmin
		}
	}
	return g[userID], own
}

func TestHeld(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		now := time.Now().UTC()
		create := func(row any) {
			t.Helper()
			if err := db.Create(row).Error; err != nil {
				t.Fatal(err)
			}
		}
		members := &models.Project{ID: "p", Slug: "p", ToolExposure: models.ExposeFull, AuthMode: models.AuthOAuth, OAuthAccess: models.OAuthMembers, CreatedAt: now, UpdatedAt: now}
		anyone := &models.Project{ID: "q", Slug: "q", ToolExposure: models.ExposeFull, AuthMode: models.AuthOAuth, OAuthAccess: models.OAuthAnyone, CreatedAt: now, UpdatedAt: now}
		byKey := &models.Project{ID: "r", Slug: "r", ToolExposure: models.ExposeFull, AuthMode: models.AuthAPIKey, OAuthAccess: models.OAuthAnyone, CreatedAt: now, UpdatedAt: now}
		for _, p := range []*models.Project{members, anyone, byKey} {
			create(p)
		}
		for _, id := range []string{"admin", "chief", "member", "person", "group", "both", "leader", "off", "stranger"} {
			user := &models.User{ID: id, Email: id, EmailFold: id, Role: models.RoleMember, CreatedAt: now}
			switch id {
			case "admin":
				user.Role = models.RoleAdmin
			case "off":
				user.Role, user.DisabledAt = models.RoleAdmin, &now
			}
			create(user)
		}
		create(&models.ProjectMember{ProjectID: "p", UserID: "member", CreatedAt: now})
		for i, g := range []models.ProjectGrant{
			{SubjectKind: models.SubjectPerson, SubjectID: "person", ToolsetID: "a", Role: models.GrantUse},
			{SubjectKind: models.SubjectPerson, SubjectID: "person", ToolsetID: "b", Role: "later"}, // of a later release
			{SubjectKind: models.SubjectPerson, SubjectID: "both", ToolsetID: "b", Role: models.GrantUse},
			{SubjectKind: models.SubjectGroup, SubjectID: "team", ToolsetID: "a", Role: models.GrantUse},
			{SubjectKind: models.SubjectPerson, SubjectID: "team", ToolsetID: "c", Role: models.GrantUse}, // no such person
			{SubjectKind: models.SubjectPerson, SubjectID: "leader", Role: models.GrantMaintain},
		} {
			g.ID, g.ProjectID, g.CreatedAt = fmt.Sprint(i), "p", now
			create(&g)
		}
		x := rights.NewIndex(db, groups{"group": {"team"}, "both": {"team"}, "chief": {"admins"}})
		if err := x.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		for user, want := range map[string]string{
			"admin": "{true true []}", "chief": "{true true []}", "member": "{true false []}", "person": "{false false [a]}", "group": "{false false [a]}",
			"both": "{false false [a b]}", "leader": "{true true []}", "off": "{false false []}", "stranger": "{false false []}", "unknown": "{false false []}",
		} {
			if got := fmt.Sprint(x.Held(members, user)); got != want {
				t.Errorf("%s holds %s, want %s", user, got, want)
			}
		}
		for user, want := range map[string][2]bool{"stranger": {true, false}, "unknown": {}, "off": {}, "admin": {true, true}} {
			if got := [2]bool{x.Held(anyone, user).Everything, x.Held(byKey, user).Everything}; got != want {
				t.Errorf("%s: %v, want %v", user, got, want)
			}
		}
		// A change of the project's grants is read, and one of people reads all.
		if err := db.Delete(&models.ProjectGrant{}, "subject_id IN ?", []string{"person", "leader"}).Error; err != nil {
			t.Fatal(err)
		}
		for topic, want := range map[notify.Topic]bool{notify.Access("q"): false, notify.Keys("p"): false, notify.Access("p"): true} {
			if err := x.Changed(t.Context(), topic); err != nil {
				t.Fatal(err)
			}
			if want && !x.Held(members, "person").None() {
				t.Errorf("after %s: still granted", topic)
			}
		}
		if err := db.Delete(&models.User{}, "id = ?", "member").Error; err != nil {
			t.Fatal(err)
		}
		if err := x.Changed(t.Context(), notify.People()); err != nil {
			t.Fatal(err)
		}
		if !x.Held(members, "member").None() || !x.Held(members, "leader").None() || x.Held(members, "both").None() {
			t.Error("wrong rights after a change of people")
		}
	})
}
