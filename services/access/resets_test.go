package access_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

const newPassword = "the second long secret of Ada"

// reset creates a reset link of a user and returns its token.
func (w *peopleWorld) reset(t *testing.T, id string) secrets.Value {
	t.Helper()
	_, link, err := w.people.CreateReset(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return link.Token
}

func (w *peopleWorld) use(t *testing.T, token secrets.Value, password, ip string) error {
	t.Helper()
	return w.people.ResetPassword(t.Context(), token, secrets.NewValue(password), access.Browser{IP: ip})
}

func TestResetWorksOnce(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		ada := w.add(t, email, models.RoleAdmin)
		cookie := w.signIn(t, email)
		token := w.reset(t, ada.ID)
		found, err := w.people.ResetOf(t.Context(), token)
		if err != nil || found.User.ID != ada.ID || !found.ExpiresAt.Equal(w.Now().Add(access.ResetLifetime)) {
			t.Fatalf("ResetOf() = %+v, %v", found, err)
		}
		// Nothing changes until the link is used, not even by a sign-in.
		if err := w.try(t, email, password, address); err != nil || !w.live(t, cookie) {
			t.Fatalf("before the link is used: %v", err)
		}
		for _, wrong := range []string{"short", "", email} {
			if f := accesstest.Want(t, w.use(t, token, wrong, address), fault.CodeValidationFailed); f.Fields["password"] == "" {
				t.Errorf("password %q: %+v", wrong, f)
			}
		}
		if err := w.use(t, token, newPassword, address); err != nil {
			t.Fatal(err)
		}
		if last := w.lastAudit(t); last.Action != "password.changed" || last.ActorID != ada.ID || last.Detail["by"] != "reset link" {
			t.Errorf("audited %+v", last)
		}
		if w.live(t, cookie) {
			t.Error("a session outlives the reset")
		}
		accesstest.Want(t, w.try(t, email, password, address), fault.CodeUnauthorized)
		if err := w.try(t, email, newPassword, address); err != nil {
			t.Errorf("sign-in with the new password: %v", err)
		}
		used := accesstest.Want(t, w.use(t, token, "a third long secret of Ada", address), fault.CodeNotFound)
		page := accesstest.Want(t, second(w.people.ResetOf(t.Context(), token)), fault.CodeNotFound)
		unknown, _ := secrets.Random()
		never := accesstest.Want(t, second(w.people.ResetOf(t.Context(), unknown)), fault.CodeNotFound)
		if used.Message != page.Message || used.Message == never.Message || !errors.Is(used.Cause, access.ErrLinkUsed) || never.Cause != nil {
			t.Errorf("faults %v, %v and %v", used, page, never)
		}
		if actions := strings.Join(w.audited(t), " "); !strings.Contains(actions, "password.reset_created") {
			t.Errorf("audit log %s", actions)
		}
	})
}

func TestResetIsUsedOnceConcurrently(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		ada := w.add(t, email, models.RoleAdmin)
		token := w.reset(t, ada.ID)
		var wg sync.WaitGroup
		results := make([]error, 4)
		for i := range results {
			wg.Go(func() {
				results[i] = w.people.ResetPassword(t.Context(), token, secrets.NewValue(newPassword+strconv.Itoa(i)), access.Browser{IP: address})
			})
		}
		wg.Wait()
		won := -1
		for i, err := range results {
			if err == nil {
				if won >= 0 {
					t.Error("two calls used the link")
				}
				won = i
			} else {
				accesstest.Want(t, err, fault.CodeNotFound)
			}
		}
		if won < 0 || w.try(t, email, newPassword+strconv.Itoa(won), address) != nil {
			t.Errorf("results %v", results)
		}
	})
}

func TestResetExpires(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		ada := w.add(t, email, models.RoleAdmin)
		for i, tt := range []struct {
			age   time.Duration
			works bool
		}{{access.ResetLifetime - time.Millisecond, true}, {access.ResetLifetime, false}, {access.ResetLifetime + time.Millisecond, false}} {
			token := w.reset(t, ada.ID)
			w.Advance(tt.age)
			if pending, err := w.people.PendingResets(t.Context()); err != nil || (len(pending) == 1) != tt.works {
				t.Errorf("pending after %s: %v, %v", tt.age, pending, err)
			}
			if err := w.people.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := w.use(t, token, newPassword+strconv.Itoa(i), address); (err == nil) != tt.works || errors.Is(err, access.ErrLinkExpired) == tt.works {
				t.Errorf("use after %s: %v, want success %v", tt.age, err, tt.works)
			}
		}
	})
}

func TestResetIsRefused(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		w.add(t, "boss@example.com", models.RoleAdmin)
		ada := w.add(t, email, models.RoleMember)
		invited, invite := w.invite(t, "grace@example.com")
		_, _, err := w.people.CreateReset(t.Context(), invited.ID)
		accesstest.Want(t, err, fault.CodeConflict)
		if err := w.accept(t, invite, "", password); err != nil {
			t.Errorf("the invite after a rejected reset: %v", err)
		}

		old := w.reset(t, ada.ID)
		token := w.reset(t, ada.ID)
		accesstest.Want(t, w.use(t, old, newPassword, address), fault.CodeNotFound) // replaced
		accesstest.Want(t, w.accept(t, token, "", newPassword), fault.CodeNotFound) // no invite
		accesstest.Want(t, second(w.people.Invitation(t.Context(), token)), fault.CodeNotFound)
		if err := w.people.Disable(t.Context(), ada.ID); err != nil {
			t.Fatal(err)
		}
		accesstest.Want(t, second(w.people.ResetOf(t.Context(), token)), fault.CodeNotFound)
		accesstest.Want(t, w.use(t, token, newPassword, address), fault.CodeNotFound)
		_, _, err = w.people.CreateReset(t.Context(), ada.ID)
		accesstest.Want(t, err, fault.CodeConflict)
		if err := w.people.Delete(t.Context(), ada.ID); err != nil {
			t.Fatal(err)
		}
		accesstest.Want(t, w.use(t, token, newPassword, address), fault.CodeNotFound)
	})
}

func TestSecondFactorOutlivesReset(t *testing.T) {
	eachWithFactor(t, func(t *testing.T, w *peopleWorld, ada access.User, _ owned) {
		if err := w.use(t, w.reset(t, ada.ID), newPassword, address); err != nil {
			t.Fatal(err)
		}
		in, err := w.people.SignIn(t.Context(), ada.Email, secrets.NewValue(newPassword), access.Browser{IP: address})
		if err != nil || in.SecondStep.IsZero() || !in.Cookie.IsZero() {
			t.Errorf("SignIn() = %+v, %v", in, err)
		}
	})
}

func TestLinksAreLimited(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		ada := w.add(t, email, models.RoleAdmin)
		for range attempts.MaxLinksPerUser {
			w.reset(t, ada.ID)
		}
		_, _, err := w.people.CreateReset(t.Context(), ada.ID)
		accesstest.Want(t, err, fault.CodeRateLimited)
		w.Advance(attempts.Window)
		token := w.reset(t, ada.ID)

		unknown, _ := secrets.Random()
		for range attempts.MaxPerAddress {
			accesstest.Want(t, w.use(t, unknown, newPassword, "192.0.2.9"), fault.CodeNotFound)
		}
		accesstest.Want(t, w.use(t, unknown, newPassword, "192.0.2.9"), fault.CodeRateLimited)
		if err := w.use(t, token, newPassword, address); err != nil {
			t.Errorf("from another address: %v", err)
		}
	})
}
