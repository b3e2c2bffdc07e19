package access_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/access/oidc"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

func TestUserChangesAreRecorded(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		boss := w.add(t, "boss@example.com", models.RoleAdmin)
		ada, err := w.people.Create(t.Context(), access.NewUser{Email: " Ada@Example.com ", Role: models.RoleMember})
		if err != nil || ada.Email != "Ada@Example.com" || ada.Name != "Ada" || ada.HasPassword || ada.HasIdentity || ada.Role != models.RoleMember || ada.LastLoginAt != nil {
			t.Fatalf("Create() = %+v, %v", ada, err)
		}
		for _, change := range []func() error{
			func() error { return w.people.SetRole(t.Context(), ada.ID, models.RoleViewer) },
			func() error { return w.people.SetRole(t.Context(), ada.ID, models.RoleViewer) }, // no change, no audit entry
			func() error { return w.people.Rename(t.Context(), ada.ID, " Ada L. ") },
			func() error { return w.people.Disable(t.Context(), ada.ID) },
			func() error { return w.people.Disable(t.Context(), ada.ID) },
			func() error { return w.people.Enable(t.Context(), ada.ID) },
			func() error { return w.accept(t, w.renewed(t, ada.ID), "", password) },
		} {
			if err := change(); err != nil {
				t.Fatal(err)
			}
		}
		got, err := w.people.Get(t.Context(), ada.ID)
		if err != nil || got.Role != models.RoleViewer || got.Name != "Ada L." || got.DisabledAt != nil || !got.HasPassword {
			t.Errorf("Get() = %+v, %v", got, err)
		}
		list, err := w.people.List(t.Context())
		if err != nil || len(list) != 2 || list[0].ID != ada.ID || list[1].ID != boss.ID {
			t.Errorf("list = %+v, %v", list, err)
		}
		if err := w.people.Delete(t.Context(), ada.ID); err != nil {
			t.Fatal(err)
		}
		accesstest.Want(t, second(w.people.Get(t.Context(), ada.ID)), fault.CodeNotFound)
		audit := []string{"person.created", "person.created", "person.role_changed", "person.renamed", "person.disabled", "person.enabled", "person.invited", "person.joined", "login.succeeded", "person.deleted"}
		if d := cmp.Diff(audit, w.audited(t)); d != "" {
			t.Errorf("audit (-want +got):\n%s", d)
		}
		var n models.Revision
		if err := w.db.First(&n, "topic = ?", string(notify.People())).Error; err != nil || n.Revision < 6 {
			t.Errorf("revision = %d, %v", n.Revision, err)
		}
	})
}

func TestInvalidUsersAreRejected(t *testing.T) {
	w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
	w.add(t, email, models.RoleAdmin)
	long := func(n int) string { return strings.Repeat("a", n-len("@example.com")) + "@example.com" }
	for _, c := range []struct {
		person access.NewUser
		fields string
	}{
		{access.NewUser{Email: "", Role: models.RoleAdmin}, "email"},
		{access.NewUser{Email: "ada", Role: models.RoleAdmin}, "email"},
		{access.NewUser{Email: "@example.com", Role: models.RoleAdmin}, "email"},
		{access.NewUser{Email: "ada@", Role: models.RoleAdmin}, "email"},
		{access.NewUser{Email: "a da@example.com", Role: models.RoleAdmin}, "email"},
		{access.NewUser{Email: "ada@example.com\r\nBcc: x", Role: models.RoleAdmin}, "email"},
		{access.NewUser{Email: "аda@example.com", Role: models.RoleAdmin}, "email"}, // the first letter is Cyrillic
		{access.NewUser{Email: long(access.MaxEmail + 1), Role: models.RoleAdmin}, "email"},
		{access.NewUser{Email: "x@example.com", Role: "owner"}, "role"},
		{access.NewUser{Email: "x@example.com"}, "role"},
		{access.NewUser{Email: "x@example.com", Role: models.RoleAdmin, Name: strings.Repeat("ü", access.MaxUserName+1)}, "name"},
		{access.NewUser{Email: "x@example.com", Role: models.RoleAdmin, Name: "a\u202eb"}, "name"},
		{access.NewUser{Email: "x@example.com", Role: models.RoleAdmin, Name: "a\nb"}, "name"},
	} {
		if f := accesstest.Want(t, second(w.people.Create(t.Context(), c.person)), fault.CodeValidationFailed); f.Fields[c.fields] == "" {
			t.Errorf("%+v: %+v", c.person, f)
		}
	}
	for _, n := range []int{access.MaxEmail - 1, access.MaxEmail} {
		w.add(t, long(n), models.RoleMember)
	}
	if _, err := w.people.Create(t.Context(), access.NewUser{Email: "x@example.com", Role: models.RoleMember, Name: strings.Repeat("ü", access.MaxUserName)}); err != nil {
		t.Error(err)
	}
	if f := accesstest.Want(t, second(w.people.Create(t.Context(), access.NewUser{Email: strings.ToUpper(email), Role: models.RoleMember})), fault.CodeConflict); f.Fields["email"] == "" {
		t.Errorf("address in use: %+v", f)
	}
	for name, err := range map[string]error{
		"role": w.people.SetRole(t.Context(), "nobody", models.RoleAdmin), "disable": w.people.Disable(t.Context(), "nobody"), "enable": w.people.Enable(t.Context(), "nobody"),
		"delete": w.people.Delete(t.Context(), "nobody"), "rename": w.people.Rename(t.Context(), "nobody", "x"), "password": w.resetPassword(t, "nobody", password),
		"sessions": second(w.people.Sessions(t.Context(), "nobody")), "everywhere": w.people.SignOutEverywhere(t.Context(), "nobody"),
	} {
		t.Run(name, func(t *testing.T) { accesstest.Want(t, err, fault.CodeNotFound) })
	}
	accesstest.Want(t, w.people.Rename(t.Context(), "nobody", " "), fault.CodeValidationFailed)
}

func TestLastAdministratorIsKept(t *testing.T) {
	losing := map[string]func(t *testing.T, w *peopleWorld, id string) error{
		"demoted": func(t *testing.T, w *peopleWorld, id string) error {
			return w.people.SetRole(t.Context(), id, models.RoleViewer)
		},
		"disabled": func(t *testing.T, w *peopleWorld, id string) error { return w.people.Disable(t.Context(), id) },
		"deleted":  func(t *testing.T, w *peopleWorld, id string) error { return w.people.Delete(t.Context(), id) },
	}
	for name, lose := range losing {
		t.Run(name, func(t *testing.T) {
			modelstest.EachDSN(t, func(t *testing.T, dsn string) {
				c := accesstest.NewClock()
				w, replica := joinPeople(t, dsn, c), joinPeople(t, dsn, c)
				a, b := w.add(t, "a@example.com", models.RoleAdmin), w.add(t, "b@example.com", models.RoleAdmin)
				off := w.add(t, "off@example.com", models.RoleAdmin)
				w.add(t, "viewer@example.com", models.RoleViewer)
				if err := w.people.Disable(t.Context(), off.ID); err != nil {
					t.Fatal(err)
				}
				// Two administrators remove each other concurrently: one must fail.
				var errs [2]error
				var wg sync.WaitGroup
				wg.Go(func() { errs[0] = lose(t, w, a.ID) })
				wg.Go(func() { errs[1] = lose(t, replica, b.ID) })
				wg.Wait()
				if (errs[0] == nil) == (errs[1] == nil) {
					t.Fatalf("errors = %v, %v, want exactly one", errs[0], errs[1])
				}
				last := a
				if errs[0] == nil {
					last = b
				}
				accesstest.Want(t, lose(t, w, last.ID), fault.CodeConflict)
				if err := w.people.SetRole(t.Context(), last.ID, models.RoleAdmin); err != nil {
					t.Errorf("unchanged role: %v", err)
				}
				if err := lose(t, w, off.ID); err != nil {
					t.Errorf("disabled administrator: %v", err)
				}
			})
		})
	}
}

func TestProjectMembers(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		for _, id := range []string{"p", "q"} {
			if err := w.db.Create(accesstest.Project(id, models.AuthOAuth)).Error; err != nil {
				t.Fatal(err)
			}
		}
		w.add(t, "boss@example.com", models.RoleAdmin)
		ada := w.add(t, email, models.RoleMember)
		for range 2 {
			if err := w.people.AddMember(t.Context(), "p", ada.ID); err != nil {
				t.Fatal(err)
			}
		}
		for id, is := range map[string]bool{"p": true, "q": false, "nowhere": false} {
			if got, err := w.people.IsMember(t.Context(), id, ada.ID); err != nil || got != is {
				t.Errorf("IsMember(%s) = %v, %v", id, got, err)
			}
		}
		if list, err := w.people.Members(t.Context(), "p"); err != nil || len(list) != 1 || list[0].ID != ada.ID {
			t.Errorf("list = %+v, %v", list, err)
		}
		accesstest.Want(t, w.people.AddMember(t.Context(), "nowhere", ada.ID), fault.CodeNotFound)
		accesstest.Want(t, w.people.AddMember(t.Context(), "p", "nobody"), fault.CodeNotFound)
		if last := w.lastAudit(t); last.Action != "member.added" || last.Project != "p" {
			t.Errorf("last audit entry = %+v", last)
		}
		for range 2 {
			if err := w.people.RemoveMember(t.Context(), "p", ada.ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.people.AddMember(t.Context(), "q", ada.ID); err != nil {
			t.Fatal(err)
		}
		if err := w.people.Delete(t.Context(), ada.ID); err != nil {
			t.Fatal(err)
		}
		if list, err := w.people.Members(t.Context(), "q"); err != nil || len(list) != 0 {
			t.Errorf("deleted user is a member: %+v, %v", list, err)
		}
	})
}

func TestListUpTo(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		w.add(t, "b@example.com", models.RoleMember)
		w.add(t, "a@example.com", models.RoleViewer)
		all, err := w.people.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{len(all) - 1, len(all), len(all) + 1} {
			users, ok, err := w.people.ListUpTo(t.Context(), limit)
			want := all
			if limit < len(all) {
				want = nil
			}
			if diff := cmp.Diff(want, users); diff != "" || ok != (limit >= len(all)) || err != nil {
				t.Errorf("limit %d: ok = %t, %v (-want +got):\n%s", limit, ok, err, diff)
			}
		}
	})
}

func TestUserLimit(t *testing.T) {
	w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
	rows := make([]models.User, access.MaxUsers-1)
	for i := range rows {
		id := fmt.Sprintf("p%05d", i)
		rows[i] = models.User{ID: id, Email: id, EmailFold: id, Role: models.RoleMember, CreatedAt: w.Now()}
	}
	if err := w.db.CreateInBatches(rows, 500).Error; err != nil {
		t.Fatal(err)
	}
	w.add(t, email, models.RoleAdmin)
	accesstest.Want(t, second(w.people.Create(t.Context(), access.NewUser{Email: "late@example.com", Role: models.RoleMember})), fault.CodeConflict)
	if err := w.people.Delete(t.Context(), "p00000"); err != nil {
		t.Fatal(err)
	}
	w.add(t, "late@example.com", models.RoleMember)
}

func TestSweepKeepsUnexpiredRows(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		w.setupToken(t)
		w.failing(t, 1, email, address)
		if err := w.db.Create(&models.SpentSignIn{Hash: []byte{1}, ExpiresAt: w.Now().Add(oidc.SignOnLifetime)}).Error; err != nil {
			t.Fatal(err)
		}
		left := func() (n [3]int64) {
			for i, model := range []any{&models.SetupToken{}, &models.LoginLimit{}, &models.SpentSignIn{}} {
				if err := w.db.Model(model).Count(&n[i]).Error; err != nil {
					t.Fatal(err)
				}
			}
			return n
		}
		for _, step := range []struct {
			advance time.Duration
			left    [3]int64
		}{
			{oidc.SignOnLifetime - time.Millisecond, [3]int64{1, 3, 1}},
			{time.Millisecond, [3]int64{1, 3, 0}},
			{attempts.Window - oidc.SignOnLifetime - time.Millisecond, [3]int64{1, 3, 0}},
			{time.Millisecond, [3]int64{1, 0, 0}},
			{access.SetupLifetime - attempts.Window - time.Millisecond, [3]int64{1, 0, 0}},
			{time.Millisecond, [3]int64{0, 0, 0}},
		} {
			w.Advance(step.advance)
			if err := w.people.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := left(); got != step.left {
				t.Errorf("after another %s: %v tokens, counts and sign-ins, want %v", step.advance, got, step.left)
			}
		}
	})
}
