package access_test

import (
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/activity"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
)

const (
	email    = "Ada@Example.com"
	password = "an admin's long secret"
	address  = "192.0.2.1"
)

// peopleWorld holds the users of one gateway process and its database, with
// fast, counted hashes.
type peopleWorld struct {
	*accesstest.Clock
	db     *gorm.DB
	people *access.Users
	hashes *atomic.Int64
}

// joinPeople opens the database as an additional gateway process.
func joinPeople(t *testing.T, dsn string, c *accesstest.Clock) *peopleWorld {
	t.Helper()
	w := &peopleWorld{Clock: c, db: modelstest.Open(t, dsn), hashes: &atomic.Int64{}}
	feed, err := notify.NewFeed(w.db, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	passwords := passwords.New(func(password, salt []byte, time, memory uint32, threads uint8, length uint32) []byte {
		w.hashes.Add(1)
		return accesstest.QuickDerivation(password, salt, time, memory, threads, length)
	})
	ring, err := secrets.ParseKeyRing("k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	w.people = access.NewUsers(w.db, activity.NewAudit(w.db, c.Now), feed, ring, passwords, groups.NewMemberships(168*time.Hour), c.Now)
	return w
}

func eachPeople(t *testing.T, f func(t *testing.T, w *peopleWorld)) {
	t.Helper()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) { f(t, joinPeople(t, dsn, accesstest.NewClock())) })
}

// add creates a user with the test's password.
func (w *peopleWorld) add(t *testing.T, email string, role models.Role) access.User {
	t.Helper()
	p, err := w.people.Create(t.Context(), access.NewUser{Email: email, Role: role, Password: secrets.NewValue(password)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *peopleWorld) try(t *testing.T, email, password, ip string) error {
	t.Helper()
	_, err := w.people.SignIn(t.Context(), email, secrets.NewValue(password), access.Browser{IP: ip})
	return err
}

// signIn returns the cookie of a new session.
func (w *peopleWorld) signIn(t *testing.T, email string) string {
	t.Helper()
	in, err := w.people.SignIn(t.Context(), email, secrets.NewValue(password), access.Browser{IP: address, UserAgent: "browser"})
	if err != nil {
		t.Fatal(err)
	}
	return in.Cookie.Reveal()
}

// resetPassword replaces the password of a user with a link.
func (w *peopleWorld) resetPassword(t *testing.T, id, password string) error {
	t.Helper()
	_, link, err := w.people.CreateReset(t.Context(), id)
	if err != nil {
		return err
	}
	return w.people.ResetPassword(t.Context(), link.Token, secrets.NewValue(password), access.Browser{IP: address})
}

// live reports whether the cookie has a live session.
func (w *peopleWorld) live(t *testing.T, cookie string) bool {
	t.Helper()
	_, err := w.people.Session(t.Context(), cookie)
	if err != nil {
		accesstest.Want(t, err, "UNAUTHORIZED")
	}
	return err == nil
}

// audited returns the actions in the audit log, in order.
func (w *peopleWorld) audited(t *testing.T) []string {
	t.Helper()
	var actions []string
	if err := w.db.Model(&models.AuditEntry{}).Order("seq").Pluck("action", &actions).Error; err != nil {
		t.Fatal(err)
	}
	return actions
}

func (w *peopleWorld) lastAudit(t *testing.T) models.AuditEntry {
	t.Helper()
	var row models.AuditEntry
	if err := w.db.Order("seq DESC").First(&row).Error; err != nil {
		t.Fatal(err)
	}
	return row
}
