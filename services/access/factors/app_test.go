package factors_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/factors"
	"mcpgateway/services/access/factors/factorstest"
	"mcpgateway/services/fault"
)

func TestCodesOfAppsWorkOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		secret, codes := w.addApp(t, ada, "Phone")
		if len(codes) != factors.RecoveryCodes {
			t.Fatalf("%d recovery codes", len(codes))
		}
		at := w.Now()
		wantUnauthorized(t, "code of the setup again", w.check(w.store.Code(factorstest.Code(t, secret, at))))
		w.later(10)
		now := w.Now()
		for offset, ok := range map[int]bool{-2: false, 2: false} {
			if err := w.check(w.store.Code(factorstest.Code(t, secret, now.Add(30e9*timeOf(offset))))); (err == nil) != ok {
				t.Errorf("code of step %+d: %v", offset, err)
			}
		}
		for _, offset := range []int{-1, 0, 1} { // each is later than the last accepted one
			code := factorstest.Code(t, secret, now.Add(30e9*timeOf(offset)))
			if err := w.check(w.store.Code(code[:3] + " " + code[3:])); err != nil {
				t.Errorf("code of step %+d: %v", offset, err)
			}
			wantUnauthorized(t, fmt.Sprintf("code of step %+d again", offset), w.check(w.store.Code(code)))
		}
		wantUnauthorized(t, "earlier code after a later one", w.check(w.store.Code(factorstest.Code(t, secret, now))))
		w.later(10)
		code := factorstest.Code(t, secret, w.Now())
		wantUnauthorized(t, "another user", w.checkOf(bob, w.store.Code(code)))
		wantUnauthorized(t, "five digits", w.check(w.store.Code(code[:5])))
		wantUnauthorized(t, "nothing", w.check(w.store.Code("")))
		wantUnauthorized(t, "much", w.check(w.store.Code(strings.Repeat(code, 1000))))
		if err := w.check(w.store.Code(code)); err != nil {
			t.Errorf("after wrong codes: %v", err)
		}
		if diff := cmp.Diff([]string{"factor.added", "factor.codes_created"}, w.audited(t)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAppSecretsAreSealed(t *testing.T) {
	w := onSQLite(t, origin, factors.RequireOff)
	secret, _ := w.addApp(t, ada, "Phone")
	var row models.AuthenticatorApp
	if err := w.db.First(&row).Error; err != nil {
		t.Fatal(err)
	}
	if strings.Contains(row.Secret, secret) || !strings.HasPrefix(row.Secret, "v1:k1:") {
		t.Errorf("stored secret %q", row.Secret)
	}
}

func TestSetupOfAppIsBound(t *testing.T) {
	w := onSQLite(t, origin, factors.RequireOff)
	setup, err := w.store.NewApp(ada, "s")
	if err != nil {
		t.Fatal(err)
	}
	code := factorstest.Code(t, setup.Secret.Reveal(), w.Now())
	add := func(who factors.Person, session, state, name, code string) error {
		_, err := w.store.AddApp(t.Context(), who, session, state, name, code)
		return err
	}
	wantUnauthorized(t, "another user", add(bob, "s", setup.State, "x", code))
	wantUnauthorized(t, "another session", add(ada, "t", setup.State, "x", code))
	wantUnauthorized(t, "forged state", add(ada, "s", setup.State+"A", "x", code))
	f := accesstest.Want(t, add(ada, "s", setup.State, "x", "000000"), fault.CodeValidationFailed)
	if f.Fields["code"] == "" {
		t.Errorf("wrong code: %+v", f)
	}
	for name, ok := range map[string]bool{"": false, " ": false, strings.Repeat("ü", factors.MaxName-1): true, strings.Repeat("ü", factors.MaxName): true, strings.Repeat("ü", factors.MaxName+1): false, "a\u202eb": false} {
		_, err := w.store.AddApp(t.Context(), ada, "s", setup.State, name, "000000")
		f := accesstest.Want(t, err, fault.CodeValidationFailed)
		if (f.Fields["name"] == "") != ok {
			t.Errorf("name %q: %+v", name, f.Fields)
		}
	}
	again, err := w.store.ResumeApp(ada, "s", setup.State)
	if err != nil || again.Secret.Reveal() != setup.Secret.Reveal() || len(again.Code) < 21 || len(again.Code) != len(again.Code[0]) || !again.Code[0][0] {
		t.Errorf("ResumeApp() = %d modules, %v", len(again.Code), err)
	}
	if err := add(ada, "s", setup.State, "x", code); err != nil {
		t.Fatal(err)
	}
	wantUnauthorized(t, "the same setup again", add(ada, "s", setup.State, "y", factorstest.Code(t, setup.Secret.Reveal(), w.Now())))
	late, err := w.store.NewApp(ada, "s")
	if err != nil {
		t.Fatal(err)
	}
	w.Advance(factors.SetupTTL)
	wantUnauthorized(t, "too late", add(ada, "s", late.State, "y", factorstest.Code(t, late.Secret.Reveal(), w.Now())))
}

func TestLimitOfApps(t *testing.T) {
	w := onSQLite(t, origin, factors.RequireOff)
	for n := range factors.MaxApps {
		_, codes := w.addApp(t, ada, fmt.Sprint("app ", n))
		if (len(codes) > 0) != (n == 0) {
			t.Errorf("app %d: %d recovery codes", n+1, len(codes))
		}
	}
	setup, err := w.store.NewApp(ada, "s")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.store.AddApp(t.Context(), ada, "s", setup.State, "one more", factorstest.Code(t, setup.Secret.Reveal(), w.Now()))
	accesstest.Want(t, err, fault.CodeConflict)
	w.addApp(t, bob, "another user's")
}

func TestRecoveryCodesWorkOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, codes := w.addApp(t, ada, "Phone")
		spelled := " " + strings.ToUpper(strings.ReplaceAll(codes[0], "-", " ")) + " "
		wantUnauthorized(t, "another user", w.checkOf(bob, w.store.Code(codes[0])))
		if err := w.check(w.store.Code(spelled)); err != nil {
			t.Errorf("code with other spelling: %v", err)
		}
		wantUnauthorized(t, "used code", w.check(w.store.Code(codes[0])))
		if set := w.of(t, ada); set.Codes != factors.RecoveryCodes-1 {
			t.Errorf("%d codes left", set.Codes)
		}
		fresh, err := w.store.NewCodes(t.Context(), ada)
		if err != nil || len(fresh) != factors.RecoveryCodes {
			t.Fatalf("NewCodes() = %d, %v", len(fresh), err)
		}
		wantUnauthorized(t, "replaced code", w.check(w.store.Code(codes[1])))
		if err := w.check(w.store.Code(fresh[9])); err != nil {
			t.Errorf("new code: %v", err)
		}
		_, err = w.store.NewCodes(t.Context(), bob)
		accesstest.Want(t, err, fault.CodeConflict)
		var stored int64
		if err := w.db.Model(&models.RecoveryCode{}).Where("hash = ?", []byte(codes[1])).Count(&stored).Error; err != nil || stored != 0 {
			t.Errorf("code is stored: %v", err)
		}
		if diff := cmp.Diff([]string{"factor.added", "factor.codes_created", "factor.code_used", "factor.codes_created", "factor.code_used"}, w.audited(t)); diff != "" {
			t.Error(diff)
		}
	})
}
