package factors_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/access/factors/factorstest"
	"mcpgateway/services/fault"
)

// signIn returns the response of a device to a new challenge.
func (w *world) signIn(t *testing.T, device *factorstest.Device) factors.PasskeyProof {
	t.Helper()
	challenge, err := w.store.SignInChallenge()
	if err != nil {
		t.Fatal(err)
	}
	return w.store.SignInPasskey(challenge.State, device.Get(t, challenge.Options))
}

func TestPasskeySignsIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		device, codes := w.addPasskey(t, ada, "Laptop")
		if len(codes) != factors.RecoveryCodes {
			t.Errorf("%d recovery codes", len(codes))
		}
		p := w.signIn(t, device)
		if id, err := p.UserID(t.Context()); err != nil || id != ada.ID {
			t.Errorf("UserID() = %q, %v", id, err)
		}
		if err := w.check(p); err != nil {
			t.Fatal(err)
		}
		if set := w.of(t, ada); set.Factors[0].UsedAt == nil || !set.Has(factors.KindPasskey) || set.Has(factors.KindApp) {
			t.Errorf("factors %+v", set)
		}
		wantUnauthorized(t, "same response again", w.check(p))
		wantUnauthorized(t, "another user", w.checkOf(bob, w.signIn(t, device)))
		if err := w.check(w.signIn(t, device)); err != nil {
			t.Errorf("second sign-in: %v", err)
		}
		if diff := cmp.Diff([]string{"factor.added", "factor.codes_created"}, w.audited(t)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWrongPasskeysRejected(t *testing.T) {
	w := onSQLite(t, origin, factors.RequireOff)
	for name, change := range map[string]func(d *factorstest.Device){
		"another origin":        func(d *factorstest.Device) { d.Origin = "https://evil.example" },
		"another site":          func(d *factorstest.Device) { d.Site = "evil.example" },
		"without verification":  func(d *factorstest.Device) { d.Verifies = false },
		"copied":                func(d *factorstest.Device) { d.Count = 0 },
		"another user's handle": func(d *factorstest.Device) { d.User = []byte(bob.ID) },
		"no handle":             func(d *factorstest.Device) { d.User = nil },
		"another key of same ID": func(d *factorstest.Device) {
			id, user := d.ID, d.User
			*d = *factorstest.NewDevice(t, origin, site)
			d.ID, d.User, d.Count = id, user, 50
		},
	} {
		t.Run(name, func(t *testing.T) {
			device, _ := w.addPasskey(t, ada, name)
			if err := w.check(w.signIn(t, device)); err != nil {
				t.Fatal(err)
			}
			change(device)
			wantUnauthorized(t, name, w.check(w.signIn(t, device)))
		})
	}
	device := factorstest.NewDevice(t, origin, site)
	device.User = []byte(ada.ID)
	p := w.signIn(t, device)
	_, err := p.UserID(t.Context())
	wantUnauthorized(t, "unknown passkey", err)
	wantUnauthorized(t, "unknown passkey", w.check(p))
	challenge, err := w.store.SignInChallenge()
	if err != nil {
		t.Fatal(err)
	}
	for _, response := range []string{"", "{}", "null", "[", `{"id":1}`} {
		wantUnauthorized(t, response, w.check(w.store.SignInPasskey(challenge.State, response)))
	}
	known, _ := w.addPasskey(t, ada, "known")
	late := w.signIn(t, known)
	w.Advance(factors.SetupTTL)
	wantUnauthorized(t, "too late", w.check(late))
}

// A response is accepted for the purpose of its challenge only: a second step
// doesn't require that the device verified its user.
func TestChallengesHaveOnePurpose(t *testing.T) {
	w := onSQLite(t, origin, factors.RequireOff)
	device, _ := w.addPasskey(t, ada, "Laptop")
	signIn, err := w.store.SignInChallenge()
	if err != nil {
		t.Fatal(err)
	}
	stepUp, err := w.store.StepUpChallenge(t.Context(), ada.ID)
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.store.SecondStepChallenge(t.Context(), ada.ID)
	if err != nil {
		t.Fatal(err)
	}
	add, err := w.store.NewPasskey(t.Context(), ada, "s")
	if err != nil {
		t.Fatal(err)
	}
	challenges := map[string]factors.Challenge{"sign-in": signIn, "step-up": stepUp, "second step": second, "add": add}
	for made, challenge := range challenges {
		for used, proof := range map[string]func(state, response string) proof{
			"sign-in":     func(s, r string) proof { return w.store.SignInPasskey(s, r) },
			"step-up":     func(s, r string) proof { return w.store.StepUpPasskey(s, r) },
			"second step": func(s, r string) proof { return w.store.SecondStepPasskey(s, r) },
		} {
			if err := w.check(proof(challenge.State, device.Get(t, challenge.Options))); (err == nil) != (made == used) {
				t.Errorf("challenge for %s used for %s: %v", made, used, err)
			}
		}
		_, err := w.store.AddPasskey(t.Context(), ada, "s", challenge.State, "x", factorstest.NewDevice(t, origin, site).Create(t, `{"challenge":"AAAA","user":{"id":"YWRh"}}`))
		wantUnauthorized(t, "new passkey for another challenge", err)
	}
	device.Verifies = false
	second, err = w.store.SecondStepChallenge(t.Context(), ada.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.check(w.store.SecondStepPasskey(second.State, device.Get(t, second.Options))); err != nil {
		t.Errorf("second step with a security key without PIN: %v", err)
	}
	none, err := w.store.StepUpChallenge(t.Context(), bob.ID)
	if err != nil || none != (factors.Challenge{}) {
		t.Errorf("challenge without a passkey: %+v, %v", none, err)
	}
}

func TestLimitOfPasskeys(t *testing.T) {
	w := onSQLite(t, origin, factors.RequireOff)
	for n := range factors.MaxPasskeys {
		w.addPasskey(t, ada, fmt.Sprint("passkey ", n))
	}
	device := factorstest.NewDevice(t, origin, site)
	challenge, err := w.store.NewPasskey(t.Context(), ada, "s")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.store.AddPasskey(t.Context(), ada, "s", challenge.State, "one more", device.Create(t, challenge.Options))
	accesstest.Want(t, err, fault.CodeConflict)
	_, err = w.store.AddPasskey(t.Context(), ada, "t", challenge.State, "x", device.Create(t, challenge.Options))
	wantUnauthorized(t, "another session", err)
	_, err = w.store.AddPasskey(t.Context(), bob, "s", challenge.State, "x", device.Create(t, challenge.Options))
	wantUnauthorized(t, "another user", err)

	used, _ := w.addPasskey(t, bob, "used")
	challenge, err = w.store.NewPasskey(t.Context(), bob, "s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = w.store.AddPasskey(t.Context(), bob, "s", challenge.State, "again", used.Create(t, challenge.Options)); err == nil {
		t.Error("same passkey added twice")
	}
}

func TestPasskeysNeedNamedHost(t *testing.T) {
	for public, want := range map[string]bool{
		"https://gateway.example.com": true, "https://gateway.example.com:8443": true, "http://localhost:8080": true,
		"http://gateway.example.com": false, "http://127.0.0.1:8080": false, "https://192.0.2.1": false, "https://[2001:db8::1]": false,
	} {
		w := onSQLite(t, public, factors.RequireOff)
		if got := w.store.Passkeys(); got != want {
			t.Errorf("%s: passkeys %v, want %v", public, got, want)
		}
		challenge, err := w.store.SignInChallenge()
		if err != nil || (challenge.Options != "") != want {
			t.Errorf("%s: challenge %q, %v", public, challenge.Options, err)
		}
		if _, err := w.store.NewPasskey(t.Context(), ada, "s"); (err == nil) != want {
			t.Errorf("%s: NewPasskey() = %v", public, err)
		}
	}
}

func TestFactorsAreRenamedAndRemoved(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.addApp(t, ada, "Phone")
		w.addPasskey(t, ada, "Laptop")
		all := w.of(t, ada).Factors
		app, passkey := all[0], all[1]
		for _, id := range []string{app.ID, passkey.ID} {
			accesstest.Want(t, w.store.Rename(t.Context(), bob, id, "mine"), fault.CodeNotFound)
			accesstest.Want(t, w.store.Remove(t.Context(), bob, false, id), fault.CodeNotFound)
			if err := w.store.Rename(t.Context(), ada, id, " New "); err != nil {
				t.Fatal(err)
			}
		}
		if all = w.of(t, ada).Factors; all[0].Name != "New" || all[1].Name != "New" {
			t.Errorf("names %+v", all)
		}
		if err := w.store.Remove(t.Context(), ada, true, app.ID); err != nil {
			t.Fatal(err)
		}
		if w.of(t, ada).Codes != factors.RecoveryCodes {
			t.Error("recovery codes gone with a factor that isn't the last")
		}
		accesstest.Want(t, w.store.Remove(t.Context(), ada, true, passkey.ID), fault.CodeConflict)
		if err := w.store.Remove(t.Context(), ada, false, passkey.ID); err != nil {
			t.Fatal(err)
		}
		if set := w.of(t, ada); len(set.Factors) != 0 || set.Codes != 0 {
			t.Errorf("left %+v", set)
		}
		if diff := cmp.Diff([]string{"factor.added", "factor.codes_created", "factor.added", "factor.renamed", "factor.renamed", "factor.removed", "factor.removed"}, w.audited(t)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRequirement(t *testing.T) {
	for _, tt := range []struct {
		require     factors.Requirement
		role        models.Role
		hasPassword bool
		want        bool
	}{
		{factors.RequireOff, models.RoleAdmin, true, false},
		{factors.RequireAdmins, models.RoleAdmin, true, true},
		{factors.RequireAdmins, models.RoleAdmin, false, false},
		{factors.RequireAdmins, models.RoleViewer, true, false},
		{factors.RequireEveryone, models.RoleMember, true, true},
		{factors.RequireEveryone, models.RoleMember, false, false},
	} {
		w := onSQLite(t, origin, tt.require)
		if got, err := w.store.MustSetUp(t.Context(), ada.ID, tt.role, tt.hasPassword); err != nil || got != tt.want {
			t.Errorf("%+v: %v, %v", tt, got, err)
		}
		w.addApp(t, ada, "Phone")
		if got, err := w.store.MustSetUp(t.Context(), ada.ID, tt.role, tt.hasPassword); err != nil || got {
			t.Errorf("%+v with an app: %v, %v", tt, got, err)
		}
	}
}
