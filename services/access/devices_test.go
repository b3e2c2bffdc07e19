package access_test

import (
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// signInWith signs in from the test's address with a device cookie.
func (w *peopleWorld) signInWith(t *testing.T, email, password, device string) (access.SignedIn, error) {
	t.Helper()
	return w.people.SignIn(t.Context(), email, secrets.NewValue(password), access.Browser{IP: address, Device: device})
}

// device returns the device cookie of a browser with an earlier sign-in.
func (w *peopleWorld) device(t *testing.T, email string) string {
	t.Helper()
	in, err := w.signInWith(t, email, password, "")
	if err != nil {
		t.Fatal(err)
	}
	return in.Device.Reveal()
}

func TestKnownBrowserPassesAccountLimit(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		w.add(t, email, models.RoleAdmin)
		w.add(t, "eve@example.com", models.RoleMember)
		known, others := w.device(t, email), w.device(t, "eve@example.com")
		w.failAll(t, attempts.MaxPerAccount)
		for name, device := range map[string]string{
			"no cookie": "", "another account's": others, "garbage": "garbage", "changed": known[:len(known)-2] + "AA", "cut": known[:len(known)-1],
			"a session's cookie": w.signIn(t, "eve@example.com"),
		} {
			if _, err := w.signInWith(t, email, password, device); !fault.Is(err, fault.CodeRateLimited) {
				t.Errorf("%s: %v", name, err)
			}
		}
		in, err := w.signInWith(t, "ADA@example.com", password, known)
		if err != nil {
			t.Fatalf("known browser: %v", err)
		}
		if _, err := w.signInWith(t, email, password, in.Device.Reveal()); err != nil {
			t.Errorf("renewed cookie: %v", err)
		}
	})
}

func TestKnownBrowserHasSeparateLimit(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		w.add(t, email, models.RoleAdmin)
		known := w.device(t, email)
		second := w.device(t, email)
		for n := range attempts.MaxPerDevice - 1 {
			if _, err := w.signInWith(t, email, "wrong password", known); !fault.Is(err, fault.CodeUnauthorized) {
				t.Fatalf("attempt %d: %v", n+1, err)
			}
		}
		in, err := w.signInWith(t, email, password, known)
		if err != nil {
			t.Fatalf("attempt %d: %v", attempts.MaxPerDevice, err)
		}
		// The renewed cookie has the same device, and the success reset its count.
		for n := range attempts.MaxPerDevice {
			cookie := []string{known, in.Device.Reveal()}[n%2]
			if _, err := w.signInWith(t, email, "wrong password", cookie); !fault.Is(err, fault.CodeUnauthorized) {
				t.Fatalf("attempt %d after the success: %v", n+1, err)
			}
		}
		hashes := w.hashes.Load()
		for _, cookie := range []string{known, in.Device.Reveal()} {
			if _, err := w.signInWith(t, email, password, cookie); !fault.Is(err, fault.CodeRateLimited) {
				t.Errorf("over the limit: %v", err)
			}
		}
		if w.hashes.Load() != hashes {
			t.Error("rejected attempt computed a hash")
		}
		if _, err := w.signInWith(t, email, password, second); err != nil {
			t.Errorf("other known browser: %v", err)
		}
		if err := w.try(t, email, password, address); err != nil {
			t.Errorf("same address without a cookie: %v", err)
		}
	})
}

func TestKnownBrowserExpires(t *testing.T) {
	w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
	w.add(t, email, models.RoleAdmin)
	known := w.device(t, email)
	for _, tt := range []struct {
		wait   time.Duration
		passes bool
	}{{attempts.DeviceLifetime - time.Second, true}, {time.Second, false}} {
		w.Advance(tt.wait)
		w.failAll(t, attempts.MaxPerAccount)
		if _, err := w.signInWith(t, email, password, known); (err == nil) != tt.passes {
			t.Errorf("%s later: %v", tt.wait, err)
		}
		if err := w.db.Where("true").Delete(&models.LoginLimit{}).Error; err != nil {
			t.Fatal(err)
		}
	}
}

func TestStepUpLimitIsPerSession(t *testing.T) {
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		w.add(t, email, models.RoleAdmin)
		one, two := access.Browser{IP: address, Cookie: w.signIn(t, email)}, access.Browser{IP: address, Cookie: w.signIn(t, email)}
		stepUp := func(from access.Browser, password string) (access.SignedIn, error) {
			return w.people.StepUp(t.Context(), secrets.NewValue(password), from)
		}
		// Attempts to sign in don't count for the session.
		w.failAll(t, attempts.MaxPerAccount)
		for range attempts.MaxPerAddress {
			_ = w.try(t, "eve@example.com", "wrong password", address)
		}
		for n := range attempts.MaxStepUpsPerSession - 1 {
			if _, err := stepUp(one, "wrong password"); !fault.Is(err, fault.CodeValidationFailed) {
				t.Fatalf("attempt %d: %v", n+1, err)
			}
		}
		in, err := stepUp(one, password)
		if err != nil {
			t.Fatalf("attempt %d: %v", attempts.MaxStepUpsPerSession, err)
		}
		one.Cookie = in.Cookie.Reveal()
		for n := range attempts.MaxStepUpsPerSession {
			if _, err := stepUp(one, "wrong password"); !fault.Is(err, fault.CodeValidationFailed) {
				t.Fatalf("attempt %d after the success: %v", n+1, err)
			}
		}
		hashes := w.hashes.Load()
		for range 2 {
			_, err := stepUp(one, password)
			if f := accesstest.Want(t, err, fault.CodeRateLimited); f.RetryAfter <= 0 || f.RetryAfter > attempts.Window {
				t.Errorf("RetryAfter = %s", f.RetryAfter)
			}
		}
		if w.hashes.Load() != hashes {
			t.Error("rejected attempt computed a hash")
		}
		if last := w.lastAudit(t); last.Action != "login.failed" {
			t.Errorf("last audit entry = %+v", last)
		}
		if _, err := stepUp(two, password); err != nil {
			t.Errorf("other session: %v", err)
		}
		w.Advance(attempts.Window)
		if _, err := stepUp(one, password); err != nil {
			t.Errorf("after the window: %v", err)
		}
	})
}
