package access_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

func TestPasswordRules(t *testing.T) {
	w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
	letters := func(n int) string { return strings.Repeat("abcdefghiß", n/10+1) }
	exactly := func(n int) string { return string([]rune(letters(n))[:n]) }
	for i, c := range []struct {
		password string
		ok       bool
	}{
		{exactly(passwords.MinLength - 1), false},
		{exactly(passwords.MinLength), true},
		{exactly(passwords.MinLength + 1), true},
		{exactly(passwords.MaxLength - 1), true},
		{exactly(passwords.MaxLength), true},
		{exactly(passwords.MaxLength + 1), false},
		{"someone@example.com", false},
		{"SomeOne@Example.com", false},
		{"someone@example.com!", true},
		{"password1234", false},
		{"Password1234", false},
		{"CorrectHorseBatteryStaple", false},
		{"aaaaaaaaaaaaaaaa", false},
		{"abcdabcdabcdabcd", false},
		{"abcdeabcdeabcde", true},
		{"with spaces and ünïcödé", true},
		{"\xff\xfe valid no more \xff", false},
	} {
		_, err := w.people.Create(t.Context(), access.NewUser{Email: "someone@example.com", Role: models.RoleMember, Password: secrets.NewValue(c.password)})
		if !c.ok {
			if f := accesstest.Want(t, err, fault.CodeValidationFailed); f.Fields["password"] == "" || len(c.password) < 100 && strings.Contains(f.Message, c.password) {
				t.Errorf("%d: %+v", i, f)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.password, err)
			continue
		}
		list, err := w.people.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.people.Delete(t.Context(), list[0].ID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestChangePassword(t *testing.T) {
	w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
	w.add(t, email, models.RoleAdmin)
	from := access.Browser{IP: address, Cookie: w.signIn(t, email)}
	change := func(old, new string) error {
		_, err := w.people.ChangePassword(t.Context(), secrets.NewValue(old), secrets.NewValue(new), from)
		return err
	}
	for _, c := range []struct{ old, new, field string }{{"wrong", "another long secret", "old"}, {password, "short", "password"}, {password, password, "password"}, {password, email, "password"}} {
		if f := accesstest.Want(t, change(c.old, c.new), fault.CodeValidationFailed); f.Fields[c.field] == "" {
			t.Errorf("%q to %q: %+v", c.old, c.new, f)
		}
	}
	if err := change(password, "another long secret"); err != nil {
		t.Fatal(err)
	}
	accesstest.Want(t, w.try(t, email, password, address), fault.CodeUnauthorized)
	if err := w.try(t, email, "another long secret", address); err != nil {
		t.Error(err)
	}
	accesstest.Want(t, change("another long secret", password), fault.CodeUnauthorized) // the cookie value was renewed
	if !slices.Contains(w.audited(t), "password.changed") {
		t.Errorf("audit actions = %v", w.audited(t))
	}
}

// TestLoginTiming checks that the work of a failed sign-in doesn't reveal
// whether an account exists. Each failure computes exactly one hash with the
// same parameters and writes the same rows.
func TestLoginTiming(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := joinPeople(t, dsn, accesstest.NewClock())
		w.add(t, "boss@example.com", models.RoleAdmin)
		w.add(t, "known@example.com", models.RoleMember)
		off := w.add(t, "disabled@example.com", models.RoleMember)
		if err := w.people.Disable(t.Context(), off.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := w.people.Create(t.Context(), access.NewUser{Email: "invited@example.com", Role: models.RoleMember}); err != nil {
			t.Fatal(err)
		}
		var messages []string
		for i, account := range []string{"known@example.com", "unknown@example.com", "disabled@example.com", "invited@example.com", "", "not an address"} {
			for _, secret := range []string{"wrong password", ""} {
				hashes, rows := w.hashes.Load(), len(w.audited(t))
				f := accesstest.Want(t, w.try(t, account, secret, fmt.Sprintf("192.0.2.%d", i)), fault.CodeUnauthorized)
				messages = append(messages, f.Message)
				if n, m := w.hashes.Load()-hashes, len(w.audited(t))-rows; n != 1 || m != 1 {
					t.Errorf("%q: %d hashes and %d rows", account, n, m)
				}
			}
		}
		if messages = slices.Compact(messages); len(messages) != 1 {
			t.Errorf("messages differ: %q", messages)
		}
		accesstest.Want(t, w.try(t, "disabled@example.com", password, "192.0.2.200"), fault.CodeUnauthorized)
	})
	t.Run("hash time of unknown accounts", func(t *testing.T) {
		p := passwords.New(argon2.IDKey)
		hash, err := p.Hash(t.Context(), passwords.NetworkQueue(address), secrets.NewValue(password))
		if err != nil {
			t.Fatal(err)
		}
		// CPU time excludes other programs.
		cpuTime := func() time.Duration {
			var used syscall.Rusage
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
				t.Fatal(err)
			}
			return time.Duration(used.Utime.Nano() + used.Stime.Nano())
		}
		median := func(stored string) time.Duration {
			var took []time.Duration
			for range 5 {
				begun := cpuTime()
				if _, _, err := p.Matches(t.Context(), passwords.NetworkQueue(address), stored, secrets.NewValue("wrong password")); err != nil {
					t.Fatal(err)
				}
				took = append(took, cpuTime()-begun)
			}
			slices.Sort(took)
			return took[2]
		}
		// Other programs share the caches, so one undisturbed round is enough.
		var ratio float64
		for range 10 {
			if ratio = float64(median("")) / float64(median(hash)); ratio > 0.8 && ratio < 1.25 {
				return
			}
		}
		t.Errorf("times differ by factor %.2f", ratio)
	})
}

func TestOutdatedHashIsReplacedAtSignIn(t *testing.T) {
	w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
	ada := w.add(t, email, models.RoleAdmin)
	stored := func() (hash string) {
		if err := w.db.Model(&models.User{}).Where("id = ?", ada.ID).Pluck("password_hash", &hash).Error; err != nil {
			t.Fatal(err)
		}
		return hash
	}
	weak := strings.Replace(stored(), "m=19456,t=2", "m=4096,t=1", 1)
	if err := w.db.Model(&models.User{}).Where("id = ?", ada.ID).Update("password_hash", weak).Error; err != nil {
		t.Fatal(err)
	}
	w.signIn(t, email)
	if renewed := stored(); renewed == weak || !strings.Contains(renewed, "m=19456,t=2") {
		t.Errorf("stored %s", renewed)
	}
	w.signIn(t, email)
}
