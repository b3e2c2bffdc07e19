package oidc_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/oidc"
	"mcpgateway/services/access/oidctest"
	"mcpgateway/services/fault"
)

func callbacks(t *testing.T) {
	c := &clock{}
	f := oidctest.NewFake(t, c.Now)
	w := join(t, modelstest.SQLite(t), f.Issuer, c)
	w.invite(t, "ada@example.com", models.RoleViewer, "")
	for name, tc := range map[string]struct {
		edit func(a *oidc.Response, cookie *string)
		code fault.Code
	}{
		"other state":           {func(a *oidc.Response, _ *string) { a.State += "x" }, fault.CodeInvalidParameter},
		"no state":              {func(a *oidc.Response, _ *string) { a.State = "" }, fault.CodeInvalidParameter},
		"other browser":         {func(_ *oidc.Response, cookie *string) { *cookie = "" }, fault.CodeInvalidParameter},
		"other sign-in":         {func(_ *oidc.Response, cookie *string) { _, *cookie = w.start(t, false) }, fault.CodeInvalidParameter},
		"forged cookie":         {func(_ *oidc.Response, cookie *string) { *cookie += "A" }, fault.CodeInvalidParameter},
		"other code":            {func(a *oidc.Response, _ *string) { a.Code += "x" }, fault.CodeUnauthorized},
		"no code":               {func(a *oidc.Response, _ *string) { a.Code = "" }, fault.CodeUnauthorized},
		"error response":        {func(a *oidc.Response, _ *string) { a.Error = "access_denied" }, fault.CodeUnauthorized},
		"iss":                   {func(a *oidc.Response, _ *string) { a.Issuer = f.Issuer }, ""},
		"other iss":             {func(a *oidc.Response, _ *string) { a.Issuer = f.Issuer + "/" }, fault.CodeUnauthorized},
		"before expiry":         {func(*oidc.Response, *string) { c.Advance(oidc.SignOnLifetime - time.Minute) }, ""},
		"at expiry":             {func(*oidc.Response, *string) { c.Advance(oidc.SignOnLifetime) }, fault.CodeInvalidParameter},
		"code of other sign-in": {func(a *oidc.Response, _ *string) { other, _ := w.start(t, false); a.Code, _ = f.Approve(t, other) }, fault.CodeUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			redeemed := f.Exchanges.Load()
			address, cookie := w.start(t, false)
			code, params := f.Approve(t, address)
			a := oidc.Response{State: params.Get("state"), Code: code}
			tc.edit(&a, &cookie)
			_, err := w.finish(t, cookie, a)
			if tc.code == "" && err != nil {
				t.Error(err)
			}
			if tc.code != "" {
				want(t, err, tc.code)
			}
			if name == "other iss" && f.Exchanges.Load() != redeemed {
				t.Error("code sent to the wrong provider")
			}
		})
	}
	t.Run("next path too long for a cookie", func(t *testing.T) {
		const longest = 3800
		for _, next := range []string{"/" + strings.Repeat("a", 2047), "/" + strings.Repeat("&", 2047)} {
			address, cookie, err := w.sso.Start(t.Context(), next, false)
			if err != nil {
				t.Fatal(err)
			}
			code, params := f.Approve(t, address)
			_, back, err := w.sso.Finish(t.Context(), cookie.Reveal(), oidc.Response{State: params.Get("state"), Code: code}, browser())
			if err != nil || len(cookie.Reveal()) > longest || back != "" && back != next || back == "" && strings.HasPrefix(next, "/a") {
				t.Errorf("Finish() with a cookie of %d characters: next %q, %v", len(cookie.Reveal()), back, err)
			}
		}
	})
	t.Run("concurrent replay", func(t *testing.T) {
		modelstest.EachDSN(t, func(t *testing.T, dsn string) {
			worlds := []*world{join(t, dsn, f.Issuer, c), join(t, dsn, f.Issuer, c)}
			worlds[0].invite(t, "ada@example.com", models.RoleViewer, "")
			address, cookie := worlds[0].start(t, false)
			code, params := f.Approve(t, address)
			errs := make([]error, 6)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() {
					_, _, errs[i] = worlds[i%2].sso.Finish(t.Context(), cookie, oidc.Response{State: params.Get("state"), Code: code}, browser())
				})
			}
			wg.Wait()
			won := 0
			for _, err := range errs {
				if err == nil {
					won++
				} else {
					want(t, err, fault.CodeInvalidParameter)
				}
			}
			if won != 1 {
				t.Errorf("%d completed, want 1", won)
			}
		})
	})
	t.Run("missing required iss", func(t *testing.T) {
		f.Behave(oidctest.Behavior{Document: func(d map[string]any) { d["authorization_response_iss_parameter_supported"] = true }})
		fresh := join(t, modelstest.SQLite(t), f.Issuer, c)
		fresh.invite(t, "ada@example.com", models.RoleViewer, "")
		_, err := fresh.signIn(t, f)
		want(t, err, fault.CodeUnauthorized)
	})
	t.Run("fresh sign-in requires recent authentication", func(t *testing.T) {
		for _, tc := range []struct {
			age time.Duration // of the authentication at the provider
			ok  bool
		}{{0, true}, {time.Hour, false}} {
			f.Behave(oidctest.Behavior{Token: func(_, claims map[string]any) { claims["auth_time"] = c.Now().Add(-tc.age).Unix() }})
			address, cookie := w.start(t, true)
			code, params := f.Approve(t, address)
			_, err := w.finish(t, cookie, oidc.Response{State: params.Get("state"), Code: code})
			if tc.ok != (err == nil) {
				t.Errorf("authentication %s ago: Finish() = %v", tc.age, err)
			}
		}
		in, err := w.signIn(t, f) // an older authentication signs in, but requires a step-up
		if err != nil {
			t.Fatal(err)
		}
		want(t, w.people.NeedStepUp(in.Session.ConfirmedUntil), fault.CodeStepUpRequired)
	})
}

func providerDown(t *testing.T) {
	c := &clock{}
	f := oidctest.NewFake(t, c.Now)
	f.Behave(oidctest.Behavior{Down: true})
	w := join(t, modelstest.SQLite(t), f.Issuer, c) // sends no request
	if n := f.Discoveries.Load(); n != 0 {
		t.Errorf("%d requests before first use, want 0", n)
	}
	for range 5 {
		_, _, err := w.sso.Start(t.Context(), "/", false)
		want(t, err, fault.CodeUnavailable)
	}
	if n := f.Discoveries.Load(); n != 1 {
		t.Errorf("%d requests within the retry interval, want 1", n)
	}
	f.Behave(oidctest.Behavior{})
	c.Advance(5 * time.Second)
	w.invite(t, "ada@example.com", models.RoleViewer, "")
	if _, err := w.signIn(t, f); err != nil {
		t.Fatalf("after recovery: %v", err)
	}
	address, cookie := w.start(t, false)
	code, params := f.Approve(t, address)
	f.Behave(oidctest.Behavior{Down: true})
	_, err := w.finish(t, cookie, oidc.Response{State: params.Get("state"), Code: code})
	want(t, err, fault.CodeUnavailable)
	// The cached configuration stays in use while the provider is down.
	c.Advance(2 * time.Hour)
	w.start(t, false)
}
