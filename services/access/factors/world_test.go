package factors_test

import (
	"log/slog"
	"net/url"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/access/factors/factorstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
)

const (
	origin = "https://gateway.example.com"
	site   = "gateway.example.com"
)

// ada and bob are the users of every world.
var (
	ada = factors.Person{ID: "ada", Email: "ada@example.com"}
	bob = factors.Person{ID: "bob", Email: "bob@example.com"}
)

// world holds the factors of one gateway process and its database.
type world struct {
	*accesstest.Clock
	db    *gorm.DB
	store *factors.Store
}

func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	modelstest.EachDSN(t, func(t *testing.T, dsn string) { f(t, newWorld(t, dsn, origin, factors.RequireOff)) })
}

func onSQLite(t *testing.T, public string, require factors.Requirement) *world {
	t.Helper()
	return newWorld(t, modelstest.SQLite(t), public, require)
}

func newWorld(t *testing.T, dsn, public string, require factors.Requirement) *world {
	t.Helper()
	w := &world{Clock: accesstest.NewClock(), db: modelstest.Open(t, dsn)}
	feed, err := notify.NewFeed(w.db, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ring, err := secrets.ParseKeyRing("k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(public)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []factors.Person{ada, bob} {
		if err := w.db.Create(&models.User{ID: p.ID, Email: p.Email, EmailFold: p.Email, Role: models.RoleAdmin, PasswordHash: "x", OIDCSubject: "", CreatedAt: w.Now()}).Error; err != nil {
			t.Fatal(err)
		}
	}
	w.store = factors.New(factors.Options{DB: w.db, Audit: activity.NewAudit(w.db, w.Now), Feed: feed, Keys: ring, PublicURL: address, Require: require, Now: w.Now})
	return w
}

// addApp adds an authenticator app and returns its secret and the recovery codes.
func (w *world) addApp(t *testing.T, who factors.Person, name string) (secret string, codes []string) {
	t.Helper()
	setup, err := w.store.NewApp(who, "s")
	if err != nil {
		t.Fatal(err)
	}
	codes, err = w.store.AddApp(t.Context(), who, "s", setup.State, name, factorstest.Code(t, setup.Secret.Reveal(), w.Now()))
	if err != nil {
		t.Fatal(err)
	}
	return setup.Secret.Reveal(), codes
}

// addPasskey adds a passkey and returns its device and the recovery codes.
func (w *world) addPasskey(t *testing.T, who factors.Person, name string) (*factorstest.Device, []string) {
	t.Helper()
	device := factorstest.NewDevice(t, origin, site)
	challenge, err := w.store.NewPasskey(t.Context(), who, "s")
	if err != nil {
		t.Fatal(err)
	}
	codes, err := w.store.AddPasskey(t.Context(), who, "s", challenge.State, name, device.Create(t, challenge.Options))
	if err != nil {
		t.Fatal(err)
	}
	return device, codes
}

// proof is the part of access.Proof that a sign-in checks.
type proof interface {
	Check(tx *gorm.DB, userID string) error
}

// check checks a proof of ada as a sign-in does.
func (w *world) check(p proof) error { return w.checkOf(ada, p) }

func (w *world) checkOf(who factors.Person, p proof) error {
	return w.db.Transaction(func(tx *gorm.DB) error { return p.Check(tx, who.ID) })
}

// later advances the clock to the next steps of authenticator apps.
func (w *world) later(steps int) { w.Advance(time.Duration(steps) * 30 * time.Second) }

func (w *world) of(t *testing.T, who factors.Person) factors.Set {
	t.Helper()
	set, err := w.store.Of(t.Context(), who.ID)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// audited returns the actions of the audit log, in order.
func (w *world) audited(t *testing.T) []string {
	t.Helper()
	var actions []string
	if err := w.db.Model(&models.AuditEntry{}).Order("seq").Pluck("action", &actions).Error; err != nil {
		t.Fatal(err)
	}
	return actions
}

func wantUnauthorized(t *testing.T, what string, err error) {
	t.Helper()
	if !fault.Is(err, fault.CodeUnauthorized) {
		t.Errorf("%s: %v, want UNAUTHORIZED", what, err)
	}
}

func timeOf(n int) time.Duration { return time.Duration(n) }
