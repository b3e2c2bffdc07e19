package access_test

import (
	"fmt"
	"sync"
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

// failing runs n failing attempts and fails the test unless each is rejected
// for its credentials.
func (w *peopleWorld) failing(t *testing.T, n int, email, ip string) {
	t.Helper()
	for i := range n {
		if err := w.try(t, email, "wrong password", ip); !fault.Is(err, fault.CodeUnauthorized) {
			t.Fatalf("attempt %d: %v", i+1, err)
		}
	}
}

// failAll runs n failing attempts on the account, from as many addresses as
// needed.
func (w *peopleWorld) failAll(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		w.failing(t, 1, email, fmt.Sprintf("203.0.113.%d", i/attempts.MaxPerPair))
	}
}

func TestLoginLimit(t *testing.T) {
	t.Run("eleventh attempt on an account from an address", func(t *testing.T) {
		modelstest.EachDSN(t, func(t *testing.T, dsn string) {
			c := accesstest.NewClock()
			one, two := joinPeople(t, dsn, c), joinPeople(t, dsn, c)
			one.add(t, email, models.RoleAdmin)
			one.failing(t, 5, email, address)
			two.failing(t, 5, "ADA@example.COM", address)
			for _, w := range []*peopleWorld{one, two} {
				hashes := w.hashes.Load()
				f := accesstest.Want(t, w.try(t, email, password, address), fault.CodeRateLimited)
				if f.RetryAfter <= 0 || f.RetryAfter > attempts.Window {
					t.Errorf("RetryAfter = %s", f.RetryAfter)
				}
				if w.hashes.Load() != hashes {
					t.Error("rejected attempt computed a hash")
				}
			}
			failures := 0
			for _, action := range one.audited(t) {
				if action == "login.failed" {
					failures++
				}
			}
			if failures != attempts.MaxPerPair+1 {
				t.Errorf("%d failures recorded, want each within the limit and one over it", failures)
			}
			c.Advance(attempts.Window - time.Millisecond)
			accesstest.Want(t, two.try(t, email, password, address), fault.CodeRateLimited)
			c.Advance(time.Millisecond)
			if err := two.try(t, email, password, address); err != nil {
				t.Errorf("after the window: %v", err)
			}
		})
	})
	t.Run("another address", func(t *testing.T) {
		eachPeople(t, func(t *testing.T, w *peopleWorld) {
			w.add(t, email, models.RoleAdmin)
			w.failing(t, attempts.MaxPerPair, email, "203.0.113.1")
			accesstest.Want(t, w.try(t, email, password, "203.0.113.1"), fault.CodeRateLimited)
			if err := w.try(t, email, password, address); err != nil {
				t.Errorf("user locked out from another address: %v", err)
			}
		})
	})
	t.Run("attempts on an account from all addresses", func(t *testing.T) {
		eachPeople(t, func(t *testing.T, w *peopleWorld) {
			w.add(t, email, models.RoleAdmin)
			w.failAll(t, attempts.MaxPerAccount-1)
			w.failing(t, 1, email, "203.0.113.254")
			accesstest.Want(t, w.try(t, email, password, address), fault.CodeRateLimited)
			accesstest.Want(t, w.try(t, email, password, address), fault.CodeRateLimited)
			w.Advance(attempts.Window)
			if err := w.try(t, email, password, address); err != nil {
				t.Errorf("after the window: %v", err)
			}
		})
	})
	t.Run("rejected attempts and the account limit", func(t *testing.T) {
		w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
		w.add(t, email, models.RoleAdmin)
		w.failing(t, attempts.MaxPerPair, email, "203.0.113.1")
		for range attempts.MaxPerAccount {
			accesstest.Want(t, w.try(t, email, "wrong password", "203.0.113.1"), fault.CodeRateLimited)
		}
		if err := w.try(t, email, password, address); err != nil {
			t.Error(err)
		}
	})
	t.Run("success resets the count", func(t *testing.T) {
		eachPeople(t, func(t *testing.T, w *peopleWorld) {
			w.add(t, email, models.RoleAdmin)
			w.failing(t, attempts.MaxPerPair-1, email, address)
			w.signIn(t, email)
			w.failing(t, attempts.MaxPerPair, email, address)
			accesstest.Want(t, w.try(t, email, password, address), fault.CodeRateLimited)
		})
	})
	t.Run("attempts from an address", func(t *testing.T) {
		eachPeople(t, func(t *testing.T, w *peopleWorld) {
			w.add(t, email, models.RoleAdmin)
			for i := range attempts.MaxPerAddress {
				w.failing(t, 1, fmt.Sprintf("nobody%d@example.com", i), address)
			}
			accesstest.Want(t, w.try(t, email, password, address), fault.CodeRateLimited)
			if err := w.try(t, email, password, "192.0.2.99"); err != nil {
				t.Errorf("other address: %v", err)
			}
		})
	})
	t.Run("successes from an address", func(t *testing.T) {
		w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
		w.add(t, email, models.RoleAdmin)
		for range attempts.MaxPerAddress + 1 {
			w.signIn(t, email)
		}
	})
	t.Run("IPv6 network", func(t *testing.T) {
		w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
		for i := range attempts.MaxPerAddress {
			w.failing(t, 1, fmt.Sprintf("nobody%d@example.com", i), fmt.Sprintf("2001:db8::%x", i+1))
		}
		accesstest.Want(t, w.try(t, "x@example.com", password, "2001:db8::ffff"), fault.CodeRateLimited)
		if err := w.try(t, "x@example.com", password, "2001:db8:0:1::1"); !fault.Is(err, fault.CodeUnauthorized) {
			t.Errorf("other network: %v", err)
		}
	})
	t.Run("concurrent attempts", func(t *testing.T) {
		modelstest.EachDSN(t, func(t *testing.T, dsn string) {
			c := accesstest.NewClock()
			worlds := []*peopleWorld{joinPeople(t, dsn, c), joinPeople(t, dsn, c)}
			worlds[0].add(t, email, models.RoleAdmin)
			errs := make([]error, 16)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() {
					_, errs[i] = worlds[i%2].people.SignIn(t.Context(), email, secrets.NewValue("wrong password"), access.Browser{IP: address})
				})
			}
			wg.Wait()
			limited := 0
			for _, err := range errs {
				if fault.Is(err, fault.CodeRateLimited) {
					limited++
				} else if !fault.Is(err, fault.CodeUnauthorized) {
					t.Error(err)
				}
			}
			if limited != len(errs)-attempts.MaxPerPair {
				t.Errorf("%d of %d attempts rejected", limited, len(errs))
			}
		})
	})
	t.Run("email address not stored", func(t *testing.T) {
		w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
		w.failing(t, 1, "a password in the wrong field", address)
		var subjects []string
		if err := w.db.Model(&models.LoginLimit{}).Order("subject").Pluck("subject", &subjects).Error; err != nil {
			t.Fatal(err)
		}
		if len(subjects) != 3 || len(subjects[0]) != len("account:")+64 || subjects[1] != "address:"+address || len(subjects[2]) != len("pair:")+64 {
			t.Errorf("subjects = %q", subjects)
		}
		if last := w.lastAudit(t); last.Object != "unknown account" {
			t.Errorf("audit entry contains input: %+v", last)
		}
	})
}
