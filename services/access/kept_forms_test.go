package access_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// formsWorld is a user with a session and stored forms.
type formsWorld struct {
	*peopleWorld
	forms   *access.StoredForms
	user    access.User
	session access.SessionInfo
}

func newFormsWorld(t *testing.T, dsn string) *formsWorld {
	t.Helper()
	w := &formsWorld{peopleWorld: joinPeople(t, dsn, accesstest.NewClock())}
	w.forms = access.NewStoredForms(w.db, w.people, sealer(t), w.Now)
	w.user = w.add(t, email, models.RoleAdmin)
	info, err := w.people.Session(t.Context(), w.signIn(t, email))
	if err != nil {
		t.Fatal(err)
	}
	w.session = info
	return w
}

func sealer(t *testing.T) *secrets.KeyRing {
	t.Helper()
	ring, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func (w *formsWorld) keep(t *testing.T, form access.StoredForm) string {
	t.Helper()
	token, err := w.forms.Keep(t.Context(), w.user.ID, w.session.ID, form)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func exampleForm() access.StoredForm {
	return access.StoredForm{Method: "POST", URL: "/admin/people?x=1", ContentType: "application/x-www-form-urlencoded", Body: []byte("password=very+secret"), Draft: true, Files: true}
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
		accesstest.Want(t, second(w.forms.Take(t.Context(), token, w.user.ID, w.session.ID)), fault.CodeNotFound)
	})
}

func TestKeptFormIsBoundToUserAndSession(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		w := newFormsWorld(t, dsn)
		bob := w.add(t, "bob@example.com", models.RoleAdmin)
		other, err := w.people.Session(t.Context(), w.signIn(t, email))
		if err != nil {
			t.Fatal(err)
		}
		token := w.keep(t, exampleForm())
		accesstest.Want(t, second(w.forms.Take(t.Context(), token, bob.ID, w.session.ID)), fault.CodeNotFound)
		accesstest.Want(t, second(w.forms.Take(t.Context(), token, w.user.ID, other.ID)), fault.CodeNotFound)
		accesstest.Want(t, second(w.forms.Take(t.Context(), "", w.user.ID, w.session.ID)), fault.CodeNotFound)
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
		accesstest.Want(t, second(w.forms.Take(t.Context(), theirs, bob.ID, "another")), fault.CodeNotFound)
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
			}{{access.StoredFormTTL - time.Millisecond, true}, {access.StoredFormTTL, false}, {access.StoredFormTTL + time.Millisecond, false}} {
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
			for n := access.MaxStoredForm - 1; n <= access.MaxStoredForm+1; n++ {
				form := exampleForm()
				form.Body = bytes.Repeat([]byte("x"), n)
				token, err := w.forms.Keep(t.Context(), w.user.ID, w.session.ID, form)
				if (err == nil) != (n <= access.MaxStoredForm) {
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
			for n := 2; n <= access.MaxStoredForms+1; n++ {
				w.Advance(time.Millisecond)
				w.keep(t, exampleForm())
				if _, err := w.forms.Peek(t.Context(), first, w.user.ID, w.session.ID); (err == nil) != (n <= access.MaxStoredForms) {
					t.Errorf("first of %d forms: %v", n, err)
				}
			}
		})
	})
}
