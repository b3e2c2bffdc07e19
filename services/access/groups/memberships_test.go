package groups_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/groups"
)

func TestMembershipsCountUntilMaxAge(t *testing.T) {
	const age = 168 * time.Hour
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, row := range []any{
			&models.User{ID: "ada", Email: "ada", EmailFold: "ada", Role: models.RoleMember},
			&models.User{ID: "bob", Email: "bob", EmailFold: "bob", Role: models.RoleMember},
			&models.Group{ID: "admins", Name: "Admins", NameFold: "admins", Claim: "a", Role: models.RoleAdmin},
			&models.Group{ID: "plain", Name: "Plain", NameFold: "plain"},
			&models.GroupMember{GroupID: "admins", UserID: "ada", Via: models.ViaClaim, SeenAt: at},
			&models.GroupMember{GroupID: "plain", UserID: "ada", Via: models.ViaClaim, SeenAt: at},
			&models.GroupMember{GroupID: "plain", UserID: "ada", Via: models.ViaLocal, SeenAt: at},
			&models.GroupMember{GroupID: "admins", UserID: "bob", Via: models.ViaLocal, SeenAt: at},
		} {
			if err := db.Create(row).Error; err != nil {
				t.Fatal(err)
			}
		}
		m := groups.NewMemberships(age)
		all, err := m.Load(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		ada, err := m.LoadUser(t.Context(), db, "ada")
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			name   string
			after  time.Duration
			user   string
			groups []string
			role   models.Role
		}{
			{"before the end", age - time.Millisecond, "ada", []string{"admins", "plain"}, models.RoleAdmin},
			{"at the end", age, "ada", []string{"plain"}, models.RoleMember},
			{"after the end", age + time.Millisecond, "ada", []string{"plain"}, models.RoleMember},
			{"local", 10 * age, "bob", []string{"admins"}, models.RoleAdmin},
			{"unknown user", 0, "eve", nil, models.RoleMember},
		} {
			now := at.Add(tt.after)
			for name, view := range map[string]groups.View{"all": all, "one": ada} {
				if name == "one" && tt.user != "ada" {
					continue
				}
				if diff := cmp.Diff(tt.groups, view.Groups(tt.user, now)); diff != "" {
					t.Errorf("%s, %s: Groups() (-want +got):\n%s", tt.name, name, diff)
				}
				if role := view.Role(tt.user, models.RoleMember, now); role != tt.role {
					t.Errorf("%s, %s: Role() = %s, want %s", tt.name, name, role, tt.role)
				}
			}
		}
		for _, tt := range []struct {
			after, now time.Duration
			want       bool
		}{
			{0, age - time.Millisecond, false}, {0, age, true}, {age - time.Millisecond, age, true}, {age - time.Millisecond, 10 * age, true},
			{age, age + time.Hour, false}, {0, 0, false},
		} {
			if got := all.Expires(at.Add(tt.after), at.Add(tt.now)); got != tt.want {
				t.Errorf("Expires(%s, %s) = %t, want %t", tt.after, tt.now, got, tt.want)
			}
		}
		if (groups.View{}).Expires(at, at.Add(age)) {
			t.Error("a View without members expires")
		}
		if len(ada.Groups("bob", at)) != 0 {
			t.Error("LoadUser() returned another user's groups")
		}
	})
}
