package access_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/access/attempts"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// owned are users with a second factor. It implements access.Factors.
type owned map[string]bool

func (o owned) Active(_ *gorm.DB, userID string) (bool, error) { return o[userID], nil }

func (o owned) RemoveAll(_ *gorm.DB, userID string) (int64, error) {
	if !o[userID] {
		return 0, nil
	}
	delete(o, userID)
	return 1, nil
}

// proof is a second factor that is right or wrong. It implements
// access.Identification.
type proof struct {
	right, passkey bool
	user           string
}

func (p proof) Guessable() bool { return !p.passkey }

func (p proof) Method() string {
	if p.passkey {
		return "passkey"
	}
	return "code"
}

func (p proof) Check(_ *gorm.DB, userID string) error {
	if !p.right || p.user != "" && p.user != userID {
		return fault.New(fault.KindUnauthorized, fault.CodeUnauthorized, "wrong")
	}
	return nil
}

func (p proof) UserID(context.Context) (string, error) { return p.user, nil }

var right, wrong = proof{right: true}, proof{}

// eachWithFactor runs f on both kinds of database with a user who has a second
// factor.
func eachWithFactor(t *testing.T, f func(t *testing.T, w *peopleWorld, ada access.User, factors owned)) {
	t.Helper()
	eachPeople(t, func(t *testing.T, w *peopleWorld) {
		ada := w.add(t, email, models.RoleAdmin)
		factors := owned{ada.ID: true}
		w.people.UseFactors(factors)
		f(t, w, ada, factors)
	})
}

// password enters the password and returns the cookie of the second step.
func (w *peopleWorld) password(t *testing.T, from access.Browser) string {
	t.Helper()
	in, err := w.people.SignIn(t.Context(), email, secrets.NewValue(password), from)
	if err != nil {
		t.Fatal(err)
	}
	if in.SecondStep.IsZero() || !in.Cookie.IsZero() || !in.Device.IsZero() {
		t.Fatal("password alone started a session")
	}
	return in.SecondStep.Reveal()
}

func TestPasswordAloneStartsNoSession(t *testing.T) {
	eachWithFactor(t, func(t *testing.T, w *peopleWorld, ada access.User, _ owned) {
		from := access.Browser{IP: address}
		step := w.password(t, from)
		if user, err := w.people.SecondStep(t.Context(), step); err != nil || user.ID != ada.ID {
			t.Errorf("SecondStep() = %+v, %v", user, err)
		}
		accesstest.Want(t, second(w.people.FinishSignIn(t.Context(), step, wrong, from)), fault.CodeUnauthorized)
		if last := w.lastAudit(t); last.Action != "login.failed" || last.Detail["reason"] != "code" || last.ObjectID != ada.ID {
			t.Errorf("audited %+v", last)
		}
		in, err := w.people.FinishSignIn(t.Context(), step, right, from)
		if err != nil || !w.live(t, in.Cookie.Reveal()) || in.Device.IsZero() {
			t.Fatalf("FinishSignIn() = %v", err)
		}
		if last := w.lastAudit(t); last.Action != "login.succeeded" || last.Detail["method"] != "password and code" {
			t.Errorf("audited %+v", last)
		}
		accesstest.Want(t, second(w.people.FinishSignIn(t.Context(), step, right, from)), fault.CodeInvalidParameter)
		for _, forged := range []string{"", "x", step[:len(step)-2], in.Cookie.Reveal()} {
			accesstest.Want(t, second(w.people.FinishSignIn(t.Context(), forged, right, from)), fault.CodeInvalidParameter)
		}
	})
}

func TestSecondStepEnds(t *testing.T) {
	eachWithFactor(t, func(t *testing.T, w *peopleWorld, ada access.User, _ owned) {
		from := access.Browser{IP: address}
		step := w.password(t, from)
		w.Advance(access.SecondStepTTL - 1)
		if _, err := w.people.SecondStep(t.Context(), step); err != nil {
			t.Errorf("just before the end: %v", err)
		}
		w.Advance(1)
		accesstest.Want(t, second(w.people.FinishSignIn(t.Context(), step, right, from)), fault.CodeInvalidParameter)

		step = w.password(t, from)
		if err := w.resetPassword(t, ada.ID, "another long secret of Ada"); err != nil {
			t.Fatal(err)
		}
		accesstest.Want(t, second(w.people.FinishSignIn(t.Context(), step, right, from)), fault.CodeInvalidParameter)
		if err := w.resetPassword(t, ada.ID, password); err != nil {
			t.Fatal(err)
		}
		w.add(t, "bob@example.com", models.RoleAdmin)
		step = w.password(t, from) // a new password removed no factor
		if err := w.people.Disable(t.Context(), ada.ID); err != nil {
			t.Fatal(err)
		}
		accesstest.Want(t, second(w.people.FinishSignIn(t.Context(), step, right, from)), fault.CodeInvalidParameter)
		if err := w.people.Enable(t.Context(), ada.ID); err != nil {
			t.Fatal(err)
		}
		w.password(t, from) // nor did blocking
	})
}

func TestCodesAreLimited(t *testing.T) {
	eachWithFactor(t, func(t *testing.T, w *peopleWorld, _ access.User, _ owned) {
		home := access.Browser{IP: address}
		in, err := w.people.FinishSignIn(t.Context(), w.password(t, home), right, home)
		if err != nil {
			t.Fatal(err)
		}
		attacker := access.Browser{IP: "198.51.100.1"}
		step := w.password(t, attacker)
		guess := func(p access.Proof) error {
			_, err := w.people.FinishSignIn(t.Context(), step, p, attacker)
			return err
		}
		for range attempts.MaxCodesPerAccount - 1 {
			accesstest.Want(t, guess(wrong), fault.CodeUnauthorized)
		}
		if err := guess(right); err != nil { // the last attempt is still checked, and restarts the count
			t.Fatal(err)
		}
		step = w.password(t, attacker)
		for range attempts.MaxCodesPerAccount {
			accesstest.Want(t, guess(wrong), fault.CodeUnauthorized)
		}
		f := accesstest.Want(t, guess(right), fault.CodeRateLimited)
		if f.RetryAfter <= 0 || f.RetryAfter > attempts.Window {
			t.Errorf("RetryAfter = %v", f.RetryAfter)
		}
		if last := w.lastAudit(t); last.Action != "login.failed" || last.Detail["reason"] != "too many attempts" {
			t.Errorf("audited %+v", last)
		}
		before := len(w.audited(t))
		attacker.IP = "203.0.113.1"
		accesstest.Want(t, guess(right), fault.CodeRateLimited)
		if after := len(w.audited(t)); after != before {
			t.Error("recorded again")
		}
		if err := guess(proof{right: true, passkey: true}); err != nil {
			t.Errorf("passkey above the limit of codes: %v", err)
		}
		home.Device = in.Device.Reveal()
		step = w.password(t, home)
		if _, err := w.people.FinishSignIn(t.Context(), step, right, home); err != nil {
			t.Errorf("known browser: %v", err)
		}
	})
}

func TestPasskeySignsInAlone(t *testing.T) {
	eachWithFactor(t, func(t *testing.T, w *peopleWorld, ada access.User, _ owned) {
		from := access.Browser{IP: address}
		key := proof{right: true, passkey: true, user: ada.ID}
		in, err := w.people.SignInAlone(t.Context(), key, from)
		if err != nil || !w.live(t, in.Cookie.Reveal()) {
			t.Fatalf("SignInAlone() = %v", err)
		}
		if last := w.lastAudit(t); last.Action != "login.succeeded" || last.Detail["method"] != "passkey" {
			t.Errorf("audited %+v", last)
		}
		accesstest.Want(t, second(w.people.SignInAlone(t.Context(), proof{passkey: true, user: ada.ID}, from)), fault.CodeUnauthorized)
		if last := w.lastAudit(t); last.Action != "login.failed" || last.Detail["reason"] != "passkey" {
			t.Errorf("audited %+v", last)
		}
		w.add(t, "bob@example.com", models.RoleAdmin)
		if err := w.people.Disable(t.Context(), ada.ID); err != nil {
			t.Fatal(err)
		}
		accesstest.Want(t, second(w.people.SignInAlone(t.Context(), key, from)), fault.CodeUnauthorized)
		for range attempts.MaxPerAddress - 2 {
			accesstest.Want(t, second(w.people.SignInAlone(t.Context(), key, from)), fault.CodeUnauthorized)
		}
		accesstest.Want(t, second(w.people.SignInAlone(t.Context(), key, from)), fault.CodeRateLimited)
	})
}

func TestStepUpRequiresFactor(t *testing.T) {
	eachWithFactor(t, func(t *testing.T, w *peopleWorld, ada access.User, _ owned) {
		from := access.Browser{IP: address}
		in, err := w.people.FinishSignIn(t.Context(), w.password(t, from), right, from)
		if err != nil {
			t.Fatal(err)
		}
		from.Cookie = in.Cookie.Reveal()
		w.Advance(access.StepUpIdle)
		for _, p := range []access.Proof{nil, wrong} {
			f := accesstest.Want(t, second(w.people.StepUpWith(t.Context(), secrets.NewValue(password), p, from)), fault.CodeValidationFailed)
			if f.Fields["code"] == "" {
				t.Errorf("fields %v", f.Fields)
			}
		}
		f := accesstest.Want(t, second(w.people.StepUpWith(t.Context(), secrets.NewValue("wrong"), right, from)), fault.CodeValidationFailed)
		if f.Fields["password"] == "" {
			t.Errorf("fields %v", f.Fields)
		}
		in, err = w.people.StepUpWith(t.Context(), secrets.NewValue(password), right, from)
		if err != nil {
			t.Fatal(err)
		}
		if last := w.lastAudit(t); last.Action != "step_up" || last.Detail["method"] != "password and code" {
			t.Errorf("audited %+v", last)
		}
		from.Cookie = in.Cookie.Reveal()
		w.Advance(access.StepUpIdle)
		bob := w.add(t, "bob@example.com", models.RoleAdmin)
		for _, p := range []proof{{passkey: true, user: ada.ID}, {right: true, passkey: true, user: bob.ID}} {
			accesstest.Want(t, second(w.people.StepUpAlone(t.Context(), p, from)), fault.CodeUnauthorized)
		}
		in, err = w.people.StepUpAlone(t.Context(), proof{right: true, passkey: true, user: ada.ID}, from)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.people.NeedStepUp(in.Session.ConfirmedUntil); err != nil {
			t.Errorf("after the passkey: %v", err)
		}
		if w.live(t, from.Cookie) {
			t.Error("old cookie still works")
		}
	})
}

func TestFactorsAreReset(t *testing.T) {
	eachWithFactor(t, func(t *testing.T, w *peopleWorld, ada access.User, _ owned) {
		from := access.Browser{IP: address}
		in, err := w.people.FinishSignIn(t.Context(), w.password(t, from), right, from)
		if err != nil {
			t.Fatal(err)
		}
		accesstest.Want(t, w.people.ResetFactors(t.Context(), "nobody"), fault.CodeNotFound)
		if err := w.people.ResetFactors(t.Context(), ada.ID); err != nil {
			t.Fatal(err)
		}
		if w.live(t, in.Cookie.Reveal()) {
			t.Error("session survives")
		}
		accesstest.Want(t, w.people.ResetFactors(t.Context(), ada.ID), fault.CodeConflict)
		if !w.live(t, w.signIn(t, email)) {
			t.Error("password alone doesn't sign in")
		}
		all := strings.Join(w.audited(t), " ")
		if !slices.Contains(w.audited(t), "factor.removed_all") || strings.Count(all, "factor.removed_all") != 1 {
			t.Errorf("audited %s", all)
		}
	})
}
