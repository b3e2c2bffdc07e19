package groups_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

const maxAge = 168 * time.Hour

// world holds the groups of one gateway process and its database.
type world struct {
	*accesstest.Clock
	*groups.Store
	db    *gorm.DB
	index *groups.Index
	feed  *notify.Feed
}

func join(t *testing.T, dsn string, c *accesstest.Clock) *world {
	t.Helper()
	w := &world{Clock: c, db: modelstest.Open(t, dsn)}
	feed, err := notify.NewFeed(w.db, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	m := groups.NewMemberships(maxAge)
	w.feed, w.index = feed, groups.NewIndex(w.db, m, c.Now)
	w.Store = groups.NewStore(w.db, activity.NewAudit(w.db, c.Now), feed, m, c.Now)
	feed.Subscribe(w.index.Changed)
	if err := w.index.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) { f(t, join(t, dsn, accesstest.NewClock())) })
}

func (w *world) user(t *testing.T, id string) {
	t.Helper()
	row := models.User{ID: id, Email: id + "@example.com", EmailFold: id + "@example.com", Role: models.RoleMember, CreatedAt: w.Now()}
	if err := w.db.Create(&row).Error; err != nil {
		t.Fatal(err)
	}
}

func fields(name, claim string, role models.Role) groups.Fields {
	return groups.Fields{Name: &name, Claim: &claim, Role: &role}
}

func (w *world) create(t *testing.T, name, claim string, role models.Role) groups.Group {
	t.Helper()
	g, err := w.Create(t.Context(), fields(name, claim, role))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// audit returns the recorded actions with their objects and details.
func (w *world) audit(t *testing.T) []string {
	t.Helper()
	var rows []models.AuditEntry
	check(t, w.db.Order("seq").Find(&rows).Error)
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprint(r.Action, " ", r.Object, " ", map[string]string(r.Detail)))
	}
	return out
}

func TestGroupLife(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.user(t, "ada")
		check(t, w.db.Create(accesstest.Project("p", models.AuthAPIKey)).Error)
		eng := w.create(t, " Engineering ", "eng", models.RoleViewer)
		if eng.Name != "Engineering" || eng.People != 0 {
			t.Errorf("created %+v", eng)
		}
		for range 2 { // the second one changes nothing and isn't recorded
			check(t, w.AddMember(ctx, eng.ID, "ada"))
		}
		check(t, w.Replace(ctx, "ada", groups.Report{Values: []string{"eng", "private-value"}}))
		ids, role := w.index.Of("ada", models.RoleMember)
		if d := cmp.Diff([]string{eng.ID}, ids); d != "" || role != models.RoleViewer {
			t.Errorf("Of() = %s (-want +got groups):\n%s", role, d)
		}
		name, claim := "Engineers", "eng-2"
		eng, err := w.Update(ctx, eng.ID, groups.Fields{Name: &name, Claim: &claim})
		if err != nil || eng.Name != name || eng.Claim != claim || eng.Role != models.RoleViewer || eng.People != 1 {
			t.Errorf("changed %+v, %v", eng, err)
		}
		if _, err := w.Update(ctx, eng.ID, groups.Fields{Name: &name}); err != nil {
			t.Errorf("unchanged name: %v", err)
		}
		members, err := w.Members(ctx, eng.ID)
		if err != nil || len(members) != 1 || !members[0].Local || members[0].ClaimedAt != nil || !members[0].Counts {
			t.Errorf("members after a new claim = %+v, %v", members, err)
		}
		for range 2 {
			check(t, w.RemoveMember(ctx, eng.ID, "ada"))
		}
		if ids, role := w.index.Of("ada", models.RoleMember); len(ids) != 0 || role != models.RoleMember {
			t.Errorf("Of() after removal = %v, %s", ids, role)
		}
		check(t, w.db.Create(&models.ProjectGrant{ID: "g", ProjectID: "p", SubjectKind: models.SubjectGroup, SubjectID: eng.ID, Role: models.GrantUse}).Error)
		check(t, w.db.Create(&models.ProjectGrant{ID: "h", ProjectID: "p", SubjectKind: models.SubjectPerson, SubjectID: eng.ID, Role: models.GrantUse}).Error)
		check(t, w.Delete(ctx, eng.ID))
		var grants []string
		check(t, w.db.Model(&models.ProjectGrant{}).Pluck("id", &grants).Error)
		if d := cmp.Diff([]string{"h"}, grants); d != "" {
			t.Errorf("grants after deletion of the group (-want +got):\n%s", d)
		}
		var revision models.Revision
		if err := w.db.First(&revision, "topic = ?", string(notify.Access("p"))).Error; err != nil {
			t.Errorf("topic of the project: %v", err)
		}
		if d := cmp.Diff([]string{
			"group.created Engineering map[claim:eng role:viewer]",
			"group.member_added Engineering map[person:ada@example.com personId:ada]",
			"person.groups_changed ada@example.com map[added:Engineering]",
			"group.changed Engineers map[claim:eng → eng-2 name:Engineering → Engineers]",
			"group.member_removed Engineers map[person:ada@example.com personId:ada]",
			"group.deleted Engineers map[claim:eng-2 role:viewer]",
		}, w.audit(t)); d != "" {
			t.Errorf("audit log (-want +got):\n%s", d)
		}
		for _, err := range []error{
			w.Delete(ctx, eng.ID), w.AddMember(ctx, eng.ID, "ada"), w.RemoveMember(ctx, eng.ID, "ada"), w.Replace(ctx, "eve", groups.Report{}),
			w.AddMember(ctx, w.create(t, "Other", "", "").ID, "eve"),
		} {
			accesstest.Want(t, err, fault.CodeNotFound)
		}
	})
}

func TestChangesReachOtherReplicas(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		c := accesstest.NewClock()
		w, replica := join(t, dsn, c), join(t, dsn, c)
		w.user(t, "ada")
		g := w.create(t, "Admins", "admins", models.RoleAdmin)
		check(t, w.AddMember(t.Context(), g.ID, "ada"))
		check(t, replica.feed.Publish(t.Context(), notify.People()))
		if _, role := replica.index.Of("ada", models.RoleMember); role != models.RoleAdmin {
			t.Errorf("role in the other process = %s, want admin", role)
		}
		check(t, w.RemoveMember(t.Context(), g.ID, "ada"))
		check(t, replica.feed.Publish(t.Context(), notify.People()))
		if ids, _ := replica.index.Of("ada", models.RoleMember); len(ids) != 0 {
			t.Errorf("groups in the other process = %v, want none", ids)
		}
	})
}

// TestClaimsExpireInTheIndex doesn't change anything: the time passes.
func TestClaimsExpireInTheIndex(t *testing.T) {
	w := join(t, modelstest.SQLite(t), accesstest.NewClock())
	w.user(t, "ada")
	g := w.create(t, "Engineering", "eng", models.RoleViewer)
	check(t, w.Replace(t.Context(), "ada", groups.Report{Values: []string{"eng"}}))
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{maxAge - time.Millisecond, 1}, {time.Millisecond, 0}, {time.Millisecond, 0}} {
		w.Advance(tt.after)
		ids, _ := w.index.Of("ada", models.RoleMember)
		group, err := w.Get(t.Context(), g.ID)
		members, membersErr := w.Members(t.Context(), g.ID)
		if len(ids) != tt.want || err != nil || group.People != tt.want || membersErr != nil || len(members) != 1 || members[0].Counts != (tt.want == 1) {
			t.Errorf("%d groups, %+v, %v, members %+v, %v, want %d", len(ids), group, err, members, membersErr, tt.want)
		}
	}
	check(t, w.Replace(t.Context(), "ada", groups.Report{Values: []string{"eng"}})) // the same groups count again
	if ids, _ := w.index.Of("ada", models.RoleMember); len(ids) != 1 {
		t.Error("group of a new sign-in doesn't count")
	}
}

// TestFirstMembers checks that FirstMembers has the first members of Members, also local
// members that a claim names too, and counts all.
func TestFirstMembers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		g := w.create(t, "Engineering", "eng", "")
		for _, id := range []string{"cleo", "ada", "bob"} {
			w.user(t, id)
			check(t, w.AddMember(t.Context(), g.ID, id))
		}
		check(t, w.Replace(t.Context(), "ada", groups.Report{Values: []string{"eng"}}))
		check(t, w.Replace(t.Context(), "bob", groups.Report{Values: []string{"eng"}}))
		all, err := w.Members(t.Context(), g.ID)
		if err != nil || len(all) != 3 {
			t.Fatalf("members %+v, %v", all, err)
		}
		for limit := 1; limit <= len(all)+1; limit++ {
			first, total, err := w.FirstMembers(t.Context(), g.ID, limit)
			if err != nil || total != len(all) {
				t.Errorf("limit %d: %d in total, %v", limit, total, err)
			}
			if diff := cmp.Diff(all[:min(limit, len(all))], first); diff != "" {
				t.Errorf("limit %d (-want +got):\n%s", limit, diff)
			}
		}
	})
}

func TestGroupFields(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(t, "Engineering", "eng", "")
		other := w.create(t, "Sales", "", "")
		w.create(t, "Leads", "", "") // several groups have no claim
		long := strings.Repeat("ü", groups.MaxName)
		for _, tt := range []struct {
			name   string
			fields groups.Fields
			want   fault.Code
			field  string
		}{
			{"no name", groups.Fields{}, fault.CodeValidationFailed, "name"},
			{"empty name", fields("  ", "", ""), fault.CodeValidationFailed, "name"},
			{"control character", fields("a\x00b", "", ""), fault.CodeValidationFailed, "name"},
			{"name of 99 characters", fields(long[2:], "", ""), "", ""},
			{"name of 100 characters", fields(long, "", ""), "", ""},
			{"name of 101 characters", fields(long+"x", "", ""), fault.CodeValidationFailed, "name"},
			{"claim of 255 bytes", fields("c1", strings.Repeat("c", groups.MaxClaim-1), ""), "", ""},
			{"claim of 256 bytes", fields("c2", strings.Repeat("c", groups.MaxClaim), ""), "", ""},
			{"claim of 257 bytes", fields("c3", strings.Repeat("c", groups.MaxClaim+1), ""), fault.CodeValidationFailed, "claim"},
			{"claim with a space", fields("c4", "eng ", ""), fault.CodeValidationFailed, "claim"},
			{"unknown role", fields("r", "", "owner"), fault.CodeValidationFailed, "role"},
			{"name in use", fields("ENGINEERING", "", ""), fault.CodeConflict, "name"},
			{"claim in use", fields("e", "eng", ""), fault.CodeConflict, "claim"},
			{"claim in other case", fields("e", "Eng", ""), "", ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				_, err := w.Create(t.Context(), tt.fields)
				if tt.want == "" {
					check(t, err)
					return
				}
				if f := accesstest.Want(t, err, tt.want); f.Fields[tt.field] == "" {
					t.Errorf("fields = %v, want %s", f.Fields, tt.field)
				}
				if tt.fields.Name == nil {
					return
				}
				_, err = w.Update(t.Context(), other.ID, tt.fields)
				accesstest.Want(t, err, tt.want)
			})
		}
	})
}

func TestGroupLimits(t *testing.T) {
	w := join(t, modelstest.SQLite(t), accesstest.NewClock())
	w.user(t, "ada")
	// Most of the rows are stored directly, because only the last ones matter.
	rows := make([]models.Group, groups.Max-1)
	for i := range rows {
		id := fmt.Sprintf("g%04d", i)
		rows[i] = models.Group{ID: id, Name: id, NameFold: id, Claim: id, CreatedAt: w.Now(), UpdatedAt: w.Now()}
	}
	check(t, w.db.CreateInBatches(rows, 100).Error)
	last := w.create(t, "last", "", "")
	_, err := w.Create(t.Context(), fields("one too many", "", ""))
	accesstest.Want(t, err, fault.CodeValidationFailed)

	members := make([]models.GroupMember, groups.MaxPerUser-1)
	for i := range members {
		members[i] = models.GroupMember{GroupID: rows[i].ID, UserID: "ada", Via: models.ViaLocal, SeenAt: w.Now()}
	}
	check(t, w.db.CreateInBatches(members, 100).Error)
	check(t, w.AddMember(t.Context(), last.ID, "ada"))
	check(t, w.AddMember(t.Context(), last.ID, "ada")) // a member already
	accesstest.Want(t, w.AddMember(t.Context(), rows[600].ID, "ada"), fault.CodeValidationFailed)

	// A claim of a group that the user is in anyway doesn't count again.
	check(t, w.Replace(t.Context(), "ada", groups.Report{Values: []string{rows[0].Claim, rows[700].Claim}}))
	if ids, _ := w.index.Of("ada", ""); len(ids) != groups.MaxPerUser {
		t.Errorf("%d groups, want %d", len(ids), groups.MaxPerUser)
	}
	check(t, w.RemoveMember(t.Context(), last.ID, "ada"))
	check(t, w.Replace(t.Context(), "ada", groups.Report{Values: []string{rows[701].Claim, rows[700].Claim}}))
	ids, _ := w.index.Of("ada", "")
	if len(ids) != groups.MaxPerUser || ids[len(ids)-1] != rows[700].ID {
		t.Errorf("%d groups up to %s, want %d up to %s", len(ids), ids[len(ids)-1], groups.MaxPerUser, rows[700].ID)
	}
	log := w.audit(t)
	if want := "map[added:g0700 omitted:1 removed:g0000]"; !strings.HasSuffix(log[len(log)-1], want) {
		t.Errorf("last audit entry %s, want suffix %s", log[len(log)-1], want)
	}
}
