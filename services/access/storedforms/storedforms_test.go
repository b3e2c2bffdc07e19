package storedforms_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/access/storedforms"
	"mcpgateway/services/activity"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
)

const email = "ada@example.com"

func TestMain(m *testing.M) { leaktest.Main(m) }

// formsWorld is a user with a session and stored forms.
type formsWorld struct {
	*accesstest.Clock
	db      *gorm.DB
	people  *access.Users
	forms   *storedforms.Store
	user    access.User
	session access.SessionInfo
}

func newFormsWorld(t *testing.T, dsn string) *formsWorld {
	t.Helper()
	w := &formsWorld{Clock: accesstest.NewClock(), db: modelstest.Open(t, dsn)}
	feed, err := notify.NewFeed(w.db, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ring, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	hasher := passwords.New(accesstest.QuickDerivation)
	w.people = access.NewUsers(w.db, activity.NewAudit(w.db, w.Now), feed, ring, hasher, groups.NewMemberships(168*time.Hour), w.Now)
	w.forms = storedforms.New(w.db, w.people, ring, w.Now)
	w.user = w.add(t, email)
	w.session = w.signIn(t)
	return w
}

const password = "an admin's long secret"

// add creates an administrator.
func (w *formsWorld) add(t *testing.T, email string) access.User {
	t.Helper()
	user, err := w.people.Create(t.Context(), access.NewUser{Email: email, Role: models.RoleAdmin, Password: secrets.NewValue(password)})
	if err != nil {
		t.Fatal(err)
	}
	return user
}

// signIn returns a new session of the user.
func (w *formsWorld) signIn(t *testing.T) access.SessionInfo {
	t.Helper()
	in, err := w.people.SignIn(t.Context(), email, secrets.NewValue(password), access.Browser{IP: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	return in.Session
}

// missing fails the test unless Take finds no form.
func (w *formsWorld) missing(t *testing.T, token, userID, sessionID string) {
	t.Helper()
	_, err := w.forms.Take(t.Context(), token, userID, sessionID)
	accesstest.Want(t, err, fault.CodeNotFound)
}

func (w *formsWorld) keep(t *testing.T, form storedforms.Form) string {
	t.Helper()
	token, err := w.forms.Keep(t.Context(), w.user.ID, w.session.ID, form)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func exampleForm() storedforms.Form {
	return storedforms.Form{Method: "POST", URL: "/admin/people?x=1", ContentType: "application/x-www-form-urlencoded", Body: []byte("password=very+secret"), Draft: true, Files: true}
}

func TestKeptFormIsReturnedOnce(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newFormsWorld(t, dsn)
		token := w.keep(t, exampleForm())
		var row models.KeptForm
		if err := w.db.First(&row).Error; err != nil {
			t.Fatal(err)
		}
		if stored := fmt.Sprintf("%+v", row); strings.Contains(stored, "secret") || strings.Contains(stored, "people") || strings.Contains(stored, token) {
			t.Errorf("stored in plaintext: %s", stored)
		}
		if got, err := w.forms.Peek(t.Context(), token, w.user.ID, w.session.ID); err != nil || !cmp.Equal(got, exampleForm()) {
			t.Errorf("Peek() = %+v, %v", got, err)
		}
		if got, err := w.forms.Take(t.Context(), token, w.user.ID, w.session.ID); err != nil || !cmp.Equal(got, exampleForm()) {
			t.Errorf("Take() = %+v, %v", got, err)
		}
		w.missing(t, token, w.user.ID, w.session.ID)
	})
}

func TestKeptFormIsBoundToUserAndSession(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newFormsWorld(t, dsn)
		bob := w.add(t, "bob@example.com")
		other := w.signIn(t)
		token := w.keep(t, exampleForm())
		w.missing(t, token, bob.ID, w.session.ID)
		w.missing(t, token, w.user.ID, other.ID)
		w.missing(t, "", w.user.ID, w.session.ID)
		if err := w.people.EndSession(t.Context(), w.user.ID, w.session.ID); err != nil {
			t.Fatal(err)
		}
		// Swapping the sealed contents of two rows is detected.
		theirs, err := w.forms.Keep(t.Context(), bob.ID, "another", exampleForm())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.db.Exec("UPDATE kept_forms SET sealed = (SELECT sealed FROM kept_forms WHERE user_id = ?) WHERE user_id = ?", w.user.ID, bob.ID).Error; err != nil {
			t.Fatal(err)
		}
		w.missing(t, theirs, bob.ID, "another")
		if _, err := w.forms.Take(t.Context(), token, w.user.ID, other.ID); err != nil {
			t.Errorf("in a new session after the old one ended: %v", err)
		}
	})
}

func TestKeptFormLimits(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newFormsWorld(t, dsn)
		t.Run("time", func(t *testing.T) {
			for _, tt := range []struct {
				age  time.Duration
				kept bool
			}{{storedforms.TTL - time.Millisecond, true}, {storedforms.TTL, false}, {storedforms.TTL + time.Millisecond, false}} {
				token := w.keep(t, exampleForm())
				w.Advance(tt.age)
				if err := w.people.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := w.forms.Take(t.Context(), token, w.user.ID, w.session.ID); (err == nil) != tt.kept {
					t.Errorf("Take() after %s = %v, want success %v", tt.age, err, tt.kept)
				}
			}
		})
		t.Run("size", func(t *testing.T) {
			for n := storedforms.MaxBody - 1; n <= storedforms.MaxBody+1; n++ {
				form := exampleForm()
				form.Body = bytes.Repeat([]byte("x"), n)
				token, err := w.forms.Keep(t.Context(), w.user.ID, w.session.ID, form)
				if (err == nil) != (n <= storedforms.MaxBody) {
					t.Fatalf("%d bytes: %v", n, err)
				}
				if err != nil {
					accesstest.Want(t, err, fault.CodePayloadTooLarge)
					continue
				}
				if got, err := w.forms.Take(t.Context(), token, w.user.ID, w.session.ID); err != nil || len(got.Body) != n {
					t.Errorf("Take() body has %d of %d bytes (%v)", len(got.Body), n, err)
				}
			}
		})
		t.Run("number", func(t *testing.T) {
			first := w.keep(t, exampleForm())
			for n := 2; n <= storedforms.MaxKept+1; n++ {
				w.Advance(time.Millisecond)
				w.keep(t, exampleForm())
				if _, err := w.forms.Peek(t.Context(), first, w.user.ID, w.session.ID); (err == nil) != (n <= storedforms.MaxKept) {
					t.Errorf("first of %d forms: %v", n, err)
				}
			}
		})
	})
}
