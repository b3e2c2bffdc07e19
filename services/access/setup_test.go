package access_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

func setupForm(token secrets.Value) access.SetupForm {
	return access.SetupForm{Token: token, Email: email, Name: "Ada", Password: secrets.NewValue(password)}
}

func (w *peopleWorld) setupToken(t *testing.T) secrets.Value {
	t.Helper()
	token, err := w.people.NewSetupToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestBootstrap(t *testing.T) {
	from := access.Browser{IP: address, UserAgent: "browser"}
	t.Run("first administrator", func(t *testing.T) {
		eachPeople(t, func(t *testing.T, w *peopleWorld) {
			if open, err := w.people.SetupOpen(t.Context()); err != nil || !open {
				t.Fatalf("open: %v, %v", open, err)
			}
			if err := w.try(t, "admin", "admin", address); !fault.Is(err, fault.CodeUnauthorized) {
				t.Errorf("default account signs in: %v", err)
			}
			token := w.setupToken(t)
			var rows []models.SetupToken
			if err := w.db.Find(&rows).Error; err != nil || len(rows) != 1 || bytes.Contains(rows[0].Hash, []byte(token.Reveal())) || len(rows[0].Hash) != 32 {
				t.Errorf("stored %v, %v", rows, err)
			}
			for _, wrong := range []string{"", "x", token.Reveal() + "x"} {
				f := accesstest.Want(t, second(w.people.Setup(t.Context(), setupForm(secrets.NewValue(wrong)), from)), fault.CodeValidationFailed)
				if f.Fields["token"] == "" {
					t.Errorf("Setup() with token %q = %+v", wrong, f)
				}
			}
			in, err := w.people.Setup(t.Context(), setupForm(token), from)
			if err != nil {
				t.Fatal(err)
			}
			if p := in.Session.Person; p.Role != models.RoleAdmin || p.Email != email || p.Name != "Ada" || !w.live(t, in.Cookie.Reveal()) {
				t.Errorf("Setup() session = %+v", in.Session)
			}
			if last := w.lastAudit(t); last.Action != "setup" || last.ActorID != in.Session.Person.ID || last.IP != address {
				t.Errorf("last audit entry = %+v", last)
			}
			if open, err := w.people.SetupOpen(t.Context()); err != nil || open {
				t.Errorf("SetupOpen() after setup = %v, %v", open, err)
			}
			accesstest.Want(t, second(w.people.Setup(t.Context(), setupForm(token), from)), fault.CodeNotFound)
			accesstest.Want(t, second(w.people.NewSetupToken(t.Context())), fault.CodeNotFound)
		})
	})
	t.Run("token expiry", func(t *testing.T) {
		for age, ok := range map[time.Duration]bool{time.Hour - time.Millisecond: true, time.Hour: false, time.Hour + time.Millisecond: false} {
			w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
			token := w.setupToken(t)
			w.Advance(age)
			if _, err := w.people.Setup(t.Context(), setupForm(token), from); (err == nil) != ok {
				t.Errorf("after %s: %v", age, err)
			}
		}
	})
	t.Run("tokens of several replicas", func(t *testing.T) {
		w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
		first := w.setupToken(t)
		w.setupToken(t)
		if _, err := w.people.Setup(t.Context(), setupForm(first), from); err != nil {
			t.Error(err)
		}
	})
	t.Run("invalid form", func(t *testing.T) {
		w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
		form := setupForm(w.setupToken(t))
		form.Password = secrets.NewValue("short")
		accesstest.Want(t, second(w.people.Setup(t.Context(), form, from)), fault.CodeValidationFailed)
		form.Password = secrets.Value{}
		accesstest.Want(t, second(w.people.Setup(t.Context(), form, from)), fault.CodeValidationFailed)
		form.Password = secrets.NewValue(password)
		if _, err := w.people.Setup(t.Context(), form, from); err != nil {
			t.Error(err)
		}
	})
	t.Run("administrator created by command line", func(t *testing.T) {
		w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
		token := w.setupToken(t)
		w.add(t, "cli@example.com", models.RoleAdmin)
		accesstest.Want(t, second(w.people.Setup(t.Context(), setupForm(token), from)), fault.CodeNotFound)
	})
	t.Run("concurrent setups", func(t *testing.T) {
		modelstest.EachDSN(t, func(t *testing.T, dsn string) {
			c := accesstest.NewClock()
			worlds := []*peopleWorld{joinPeople(t, dsn, c), joinPeople(t, dsn, c)}
			var tokens []secrets.Value
			for range 8 {
				tokens = append(tokens, worlds[0].setupToken(t))
			}
			errs := make([]error, 8)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() {
					form := setupForm(tokens[i])
					form.Email = fmt.Sprintf("admin%d@example.com", i)
					_, errs[i] = worlds[i%2].people.Setup(t.Context(), form, from)
				})
			}
			wg.Wait()
			won := 0
			for _, err := range errs {
				switch {
				case err == nil:
					won++
				case !fault.Is(err, fault.CodeNotFound) && !fault.Is(err, fault.CodeValidationFailed):
					t.Errorf("losing Setup() = %v", err)
				}
			}
			people, err := worlds[0].people.List(t.Context())
			if err != nil || won != 1 || len(people) != 1 {
				t.Errorf("%d setups succeeded, %d users (%v), want 1 and 1", won, len(people), err)
			}
		})
	})
}

// second returns the error of a call with one other result.
func second[T any](_ T, err error) error {
	if err == nil {
		return errors.New("it succeeded")
	}
	return err
}
