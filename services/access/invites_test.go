package access_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// renewed returns the token of a new invite link of a user.
func (w *peopleWorld) renewed(t *testing.T, id string) secrets.Value {
	t.Helper()
	link, err := w.people.RenewInvite(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return link.Token
}

// invite invites a member and returns the token of the link.
func (w *peopleWorld) invite(t *testing.T, email string) (access.User, secrets.Value) {
	t.Helper()
	user, link, err := w.people.Invite(t.Context(), access.NewUser{Email: email, Role: models.RoleMember, Password: secrets.NewValue("ignored by Invite")})
	if err != nil {
		t.Fatal(err)
	}
	return user, link.Token
}

func (w *peopleWorld) accept(t *testing.T, token secrets.Value, name, password string) error {
	t.Helper()
	_, err := w.people.AcceptInvite(t.Context(), access.InviteForm{Token: token, Name: name, Password: secrets.NewValue(password)}, access.Browser{IP: address})
	return err
}

func TestInviteWorksOnce(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		user, token := w.invite(t, "grace@example.com")
		accesstest.Want(t, w.try(t, user.Email, "ignored by Invite", address), fault.CodeUnauthorized)
		found, err := w.people.Invitation(t.Context(), token)
		if err != nil || found.User.ID != user.ID || !found.ExpiresAt.Equal(w.Now().Add(access.InviteLifetime)) {
			t.Fatalf("Invitation() = %+v, %v", found, err)
		}
		if err := w.accept(t, token, " Grace Hopper ", password); err != nil {
			t.Fatal(err)
		}
		got, err := w.people.Get(t.Context(), user.ID)
		if err != nil || got.Name != "Grace Hopper" || !got.HasPassword || got.Role != models.RoleMember {
			t.Errorf("user = %+v, %v", got, err)
		}
		if err := w.try(t, user.Email, password, address); err != nil {
			t.Errorf("sign-in with the new password: %v", err)
		}
		for _, err := range []error{w.accept(t, token, "Mallory", "another long password"), second(w.people.Invitation(t.Context(), token)), second(w.people.ResetOf(t.Context(), token))} {
			if accesstest.Want(t, err, fault.CodeNotFound); !errors.Is(err, access.ErrLinkUsed) {
				t.Errorf("used link: %v", err)
			}
		}
		want := []string{"login.failed", "login.succeeded", "login.succeeded", "person.created", "person.invited", "person.joined"}
		audited := w.audited(t)
		for _, action := range want {
			if !strings.Contains(strings.Join(audited, " "), action) {
				t.Errorf("audit log %v lacks %s", audited, action)
			}
		}
	})
}

func TestInviteExpires(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		for _, tt := range []struct {
			age   time.Duration
			works bool
		}{{access.InviteLifetime - time.Millisecond, true}, {access.InviteLifetime, false}, {access.InviteLifetime + time.Millisecond, false}} {
			user, token := w.invite(t, "u"+tt.age.String()+"@example.com")
			w.Advance(tt.age)
			pending, err := w.people.PendingInvites(t.Context())
			if _, ok := pending[user.ID]; err != nil || ok != tt.works {
				t.Errorf("pending after %s: %v, %v", tt.age, ok, err)
			}
			if err := w.people.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := w.accept(t, token, "", password); (err == nil) != tt.works || errors.Is(err, access.ErrLinkExpired) == tt.works {
				t.Errorf("accept after %s: %v, want success %v", tt.age, err, tt.works)
			}
		}
	})
}

// TestLinksAreForgotten sweeps just before, at and after the end of the memory of a
// used link.
func TestLinksAreForgotten(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		_, token := w.invite(t, "grace@example.com")
		if err := w.accept(t, token, "", password); err != nil {
			t.Fatal(err)
		}
		w.Advance(access.InviteLifetime + access.LinkMemory - time.Millisecond)
		for _, known := range []bool{true, false, false} {
			if err := w.people.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := second(w.people.Invitation(t.Context(), token)); errors.Is(err, access.ErrLinkUsed) != known {
				t.Errorf("used link is known: %v, want %v", err, known)
			}
			w.Advance(time.Millisecond)
		}
	})
}

func TestInviteIsValidated(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		_, token := w.invite(t, "grace@example.com")
		for name, tt := range map[string]struct{ name, password, field string }{
			"short password":   {"Grace", "short", "password"},
			"no password":      {"Grace", "", "password"},
			"name of controls": {"Gr\x00ce", password, "name"},
		} {
			t.Run(name, func(t *testing.T) {
				if f := fault.From(w.accept(t, token, tt.name, tt.password)); f == nil || f.Fields[tt.field] == "" {
					t.Errorf("fault = %+v", f)
				}
			})
		}
		for _, wrong := range []string{"", "x", strings.Repeat("A", 43)} {
			accesstest.Want(t, w.accept(t, secrets.NewValue(wrong), "", password), fault.CodeNotFound)
		}
		if err := w.accept(t, token, "", password); err != nil {
			t.Errorf("after the rejected inputs: %v", err)
		}
	})
}

func TestRenewedInviteReplacesLink(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		user, old := w.invite(t, "grace@example.com")
		token := w.renewed(t, user.ID)
		accesstest.Want(t, w.accept(t, old, "", password), fault.CodeNotFound)
		if err := w.accept(t, token, "", password); err != nil {
			t.Fatal(err)
		}
		accesstest.Want(t, second(w.people.RenewInvite(t.Context(), user.ID)), fault.CodeConflict)
		accesstest.Want(t, second(w.people.RenewInvite(t.Context(), "nobody")), fault.CodeNotFound)
	})
}

// TestInviteEnds lists the actions that end an invite.
func TestInviteEnds(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		for name, end := range map[string]func(id string) error{
			"blocked": func(id string) error { return w.people.Disable(t.Context(), id) },
			"deleted": func(id string) error { return w.people.Delete(t.Context(), id) },
		} {
			t.Run(name, func(t *testing.T) {
				user, token := w.invite(t, strings.ReplaceAll(name, " ", "-")+"@example.com")
				if err := end(user.ID); err != nil {
					t.Fatal(err)
				}
				accesstest.Want(t, w.accept(t, token, "", password), fault.CodeNotFound)
			})
		}
	})
}

func TestInvitedEmailMustBeFree(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		w.invite(t, "grace@example.com")
		_, link, err := w.people.Invite(t.Context(), access.NewUser{Email: "GRACE@example.com", Role: models.RoleViewer})
		accesstest.Want(t, err, fault.CodeConflict)
		if diff := cmp.Diff("", link.Token.Reveal()); diff != "" {
			t.Errorf("token of a rejected invite: %s", diff)
		}
	})
}
