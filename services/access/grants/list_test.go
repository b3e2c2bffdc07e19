package grants_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/grants"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestFirstGrants checks that First has the first grants of List, also of people
// without an email address, and counts all.
func TestFirstGrants(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		create := func(row any) {
			t.Helper()
			if err := db.Create(row).Error; err != nil {
				t.Fatal(err)
			}
		}
		create(&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthOAuth, ToolExposure: models.ExposeFull})
		for i, email := range []string{"Dora@example.com", "", "bob@example.com", ""} {
			id := fmt.Sprintf("u%d", i)
			create(&models.User{ID: id, Name: []string{"Dora", "Cleo", "Bob", "anna"}[i], Email: email, EmailFold: strings.ToLower(email) + "!" + id, Role: models.RoleMember, CreatedAt: noon})
			create(&models.ProjectMember{ProjectID: "p", UserID: id, CreatedAt: noon})
		}
		create(&models.Group{ID: "g", Name: "A group", NameFold: "a group", CreatedAt: noon, UpdatedAt: noon})
		create(&models.ProjectGrant{ID: "of-person", ProjectID: "p", SubjectKind: models.SubjectPerson, SubjectID: "u2", Role: models.GrantMaintain, CreatedAt: noon})
		create(&models.ProjectGrant{ID: "of-group", ProjectID: "p", SubjectKind: models.SubjectGroup, SubjectID: "g", Role: models.GrantUse, CreatedAt: noon})
		s := grants.New(db, nil, nil, nil, func() time.Time { return noon })
		all, err := s.List(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, g := range all {
			ids = append(ids, g.ID)
		}
		if diff := cmp.Diff([]string{"member-u3", "of-person", "member-u2", "member-u1", "member-u0", "of-group"}, ids); diff != "" {
			t.Fatalf("List (-want +got):\n%s", diff)
		}
		for limit := 1; limit <= len(all)+1; limit++ {
			first, total, err := s.First(t.Context(), "p", limit)
			if err != nil || total != len(all) {
				t.Errorf("limit %d: %d in total, %v", limit, total, err)
			}
			if diff := cmp.Diff(all[:min(limit, len(all))], first); diff != "" {
				t.Errorf("limit %d (-want +got):\n%s", limit, diff)
			}
		}
	})
}
