package oidc_test

import (
	"errors"
	"log/slog"
	"maps"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/argon2"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/access/oidc"
	"mcpgateway/services/access/oidctest"
	"mcpgateway/services/access/passwords"
	"mcpgateway/services/activity"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/egress"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/secrets"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// clock is the real time with an adjustable offset.
type clock struct {
	mu    sync.Mutex
	moved time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.moved).UTC().Truncate(time.Millisecond)
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved += d
}

// world holds the single sign-on of one gateway process.
type world struct {
	*clock
	db       *gorm.DB
	people   *access.Users
	groups   *groups.Store
	provider *oidc.Provider
	sso      *oidc.SignOn
}

// join opens the database as an additional process with the provider of the
// issuer.
func join(t *testing.T, dsn, issuer string, c *clock, domains ...string) *world {
	t.Helper()
	return joinWith(t, dsn, issuer, c, "groups", domains...)
}

// joinWith is join with the name of the groups claim.
func joinWith(t *testing.T, dsn, issuer string, c *clock, claim string, domains ...string) *world {
	t.Helper()
	w := &world{clock: c, db: modelstest.Open(t, dsn)}
	feed, err := notify.NewFeed(w.db, dsn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ring, err := secrets.ParseKeyRing("k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	clients := egress.NewClients(egress.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}))
	t.Cleanup(clients.Close)
	memberships, audit := groups.NewMemberships(maxAge), activity.NewAudit(w.db, c.Now)
	w.groups = groups.NewStore(w.db, audit, feed, memberships, c.Now)
	w.people = access.NewUsers(w.db, audit, feed, ring, passwords.New(argon2.IDKey), memberships, c.Now)
	w.provider = oidc.NewProvider(oidc.Options{
		Issuer: issuer, ClientID: oidctest.ClientID, ClientSecret: secrets.NewValue(oidctest.ClientSecret), RedirectURL: oidctest.RedirectURL,
		Scopes: []string{"groups"}, GroupsClaim: claim,
	}, clients.MCP(), c.Now)
	users := access.NewIdentities(w.people, w.groups, domains, models.RoleViewer)
	w.sso = oidc.NewSignOn(oidc.SignOnOptions{DB: w.db, Users: users, Provider: w.provider, Sealer: ring, Groups: w.groups, Now: c.Now})
	return w
}

// maxAge is the time that a reported group counts.
const maxAge = 168 * time.Hour

func browser() access.Browser { return access.Browser{IP: "192.0.2.1", UserAgent: "browser"} }

// start starts a sign-in.
func (w *world) start(t *testing.T, fresh bool) (authorizeURL, cookie string) {
	t.Helper()
	address, flow, err := w.sso.Start(t.Context(), "/admin?tab=keys", fresh)
	if err != nil {
		t.Fatal(err)
	}
	return address, flow.Reveal()
}

func (w *world) finish(t *testing.T, cookie string, callback oidc.Response) (access.SignedIn, error) {
	t.Helper()
	in, next, err := w.sso.Finish(t.Context(), cookie, callback, browser())
	if err == nil && next != "/admin?tab=keys" {
		t.Errorf("Finish() next = %q", next)
	}
	return in, err
}

// signIn signs in with a fake provider.
func (w *world) signIn(t *testing.T, f *oidctest.Fake) (access.SignedIn, error) {
	t.Helper()
	address, cookie := w.start(t, false)
	code, params := f.Approve(t, address)
	return w.finish(t, cookie, oidc.Response{State: params.Get("state"), Code: code})
}

func (w *world) invite(t *testing.T, email string, role models.Role, password string) access.User {
	t.Helper()
	p, err := w.people.Create(t.Context(), access.NewUser{Email: email, Role: role, Password: secrets.NewValue(password)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func want(t *testing.T, err error, code fault.Code) {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got error %v, want fault %s", err, code)
	}
}

func callback(q url.Values) oidc.Response {
	return oidc.Response{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")}
}

func TestOIDCLogin(t *testing.T) {
	t.Run("oidc-provider", func(t *testing.T) {
		issuer := oidctest.Start(t)
		modelstest.EachDSN(t, func(t *testing.T, dsn string) { againstRealProvider(t, dsn, issuer) })
	})
	t.Run("hostile provider", hostileProviders)
	t.Run("linking", linking)
	t.Run("email verification", emailVerification)
	t.Run("callback", callbacks)
	t.Run("provider down", providerDown)
}

func againstRealProvider(t *testing.T, dsn, issuer string) {
	c := &clock{}
	w, replica := join(t, dsn, issuer, c, "allowed.example"), join(t, dsn, issuer, c, "allowed.example")
	ada := w.invite(t, "Ada@Example.com", models.RoleAdmin, "")
	person := oidctest.NewBrowser(t)
	address, cookie := w.start(t, false)
	q := person.SignIn(t, address, "1234|ada@example.com")
	if q.Get("iss") != issuer {
		t.Errorf("callback iss = %q, want %q", q.Get("iss"), issuer)
	}
	in, err := replica.finish(t, cookie, callback(q)) // the callback may reach another replica
	if err != nil {
		t.Fatal(err)
	}
	if p := in.Session.Person; p.ID != ada.ID || p.Role != models.RoleAdmin || !p.HasIdentity {
		t.Errorf("signed in as %+v", p)
	}
	if err := w.people.NeedStepUp(in.Session.ConfirmedUntil); err != nil {
		t.Errorf("NeedStepUp() after sign-in = %v", err)
	}
	var row models.User
	if err := w.db.First(&row, "id = ?", ada.ID).Error; err != nil || row.OIDCIssuer != issuer || row.OIDCSubject != "1234|ada@example.com" {
		t.Errorf("stored user = %+v, %v", row, err)
	}
	_, err = w.finish(t, cookie, callback(q))
	want(t, err, fault.CodeInvalidParameter)

	// A fresh sign-in requires a new authentication despite the provider's session.
	address, cookie = w.start(t, true)
	if !strings.Contains(address, "prompt=login") || !strings.Contains(address, "max_age=0") {
		t.Errorf("fresh sign-in: authorization URL %s", address)
	}
	if _, err := w.finish(t, cookie, callback(person.SignIn(t, address, "1234|ada@example.com"))); err != nil {
		t.Errorf("fresh sign-in: %v", err)
	}
	if _, err := w.people.Session(t.Context(), in.Cookie.Reveal()); err != nil {
		t.Errorf("first session: %v", err)
	}

	for login, code := range map[string]fault.Code{
		"eve@elsewhere.example": fault.CodeForbidden, "unverified@allowed.example": fault.CodeForbidden, "eve@allowed.example.evil.example": fault.CodeForbidden, "bob@allowed.example": "",
	} {
		address, cookie := w.start(t, false)
		in, err := w.finish(t, cookie, callback(oidctest.NewBrowser(t).SignIn(t, address, "sub|"+login)))
		if code == "" {
			if err != nil || in.Session.Person.Role != models.RoleViewer || in.Session.Person.Name != "Name of "+login {
				t.Errorf("%s: %+v, %v", login, in.Session.Person, err)
			}
			continue
		}
		want(t, err, code)
	}
	if list, err := w.people.List(t.Context()); err != nil || len(list) != 2 {
		t.Errorf("%d users, %v, want 2", len(list), err)
	}
}

func hostileProviders(t *testing.T) {
	c := &clock{}
	f := oidctest.NewFake(t, c.Now)
	w := join(t, modelstest.SQLite(t), f.Issuer, c)
	w.invite(t, "ada@example.com", models.RoleViewer, "")
	claim := func(name string, value any) oidctest.Behavior {
		return oidctest.Behavior{Token: func(_, claims map[string]any) { claims[name] = value }}
	}
	for name, b := range map[string]oidctest.Behavior{
		"wrong nonce":                claim("nonce", "x"),
		"no nonce":                   claim("nonce", ""),
		"other issuer":               claim("iss", "https://evil.example"),
		"issuer with a slash":        claim("iss", f.Issuer+"/"),
		"other audience":             claim("aud", "another"),
		"two audiences without azp":  claim("aud", []string{oidctest.ClientID, "another"}),
		"other azp":                  claim("azp", "another"),
		"expired":                    claim("exp", c.Now().Add(-time.Hour).Unix()),
		"unsigned":                   {Unsigned: true},
		"alg none":                   {Unsigned: true, Token: func(header, _ map[string]any) { header["alg"] = "none" }},
		"alg HS256":                  {Token: func(header, _ map[string]any) { header["alg"] = "HS256" }},
		"unpublished key":            {UnpublishedKey: true},
		"no subject":                 claim("sub", ""),
		"user info of other subject": {Token: func(_, claims map[string]any) { delete(claims, "email") }, UserInfo: map[string]any{"sub": "9", "email": "ada@example.com", "email_verified": true}},
	} {
		t.Run(name, func(t *testing.T) {
			f.Behave(b)
			c.Advance(2 * time.Hour) // expires the cached configuration
			if name == "expired" {
				f.Behave(claim("exp", c.Now().Add(-time.Minute).Unix()))
			}
			_, err := w.signIn(t, f)
			want(t, err, fault.CodeUnauthorized)
		})
	}
	f.Behave(oidctest.Behavior{})
	if _, err := w.signIn(t, f); err != nil {
		t.Errorf("correct response: %v", err)
	}
	if n := f.Exchanges.Load(); n != 15 {
		t.Errorf("%d codes redeemed, want 15", n)
	}
	for name, b := range map[string]oidctest.Behavior{
		"configuration of other issuer": {Document: func(d map[string]any) { d["issuer"] = "https://evil.example" }},
		"plain PKCE only":               {Document: func(d map[string]any) { d["code_challenge_methods_supported"] = []string{"plain"} }},
		"invalid user info endpoint":    {Document: func(d map[string]any) { d["userinfo_endpoint"] = "javascript:1" }},
		"invalid endpoint":              {Document: func(d map[string]any) { d["token_endpoint"] = "javascript:1" }},
		"oversized configuration":       {Padding: oidc.MaxResponse + 1},
	} {
		t.Run(name, func(t *testing.T) {
			f.Behave(b)
			_, _, err := join(t, modelstest.SQLite(t), f.Issuer, c).sso.Start(t.Context(), "/", false)
			want(t, err, fault.CodeUnavailable)
		})
	}
	f.Behave(oidctest.Behavior{Padding: oidc.MaxResponse / 2})
	if _, _, err := join(t, modelstest.SQLite(t), f.Issuer, c).sso.Start(t.Context(), "/", false); err != nil {
		t.Errorf("large configuration: %v", err)
	}
}

func linking(t *testing.T) {
	as := func(subject, email string, verified any) oidctest.Behavior {
		return oidctest.Behavior{Token: func(_, claims map[string]any) {
			claims["sub"], claims["email"], claims["email_verified"] = subject, email, verified
		}}
	}
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		c := &clock{}
		f := oidctest.NewFake(t, c.Now)
		w := join(t, dsn, f.Issuer, c, "allowed.example")
		boss := w.invite(t, "boss@example.com", models.RoleAdmin, "an admin's long secret")
		ada := w.invite(t, "ada@example.com", models.RoleMember, "")
		off := w.invite(t, "off@example.com", models.RoleMember, "")
		if err := w.people.Disable(t.Context(), off.ID); err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			name   string
			person oidctest.Behavior
			id     string // ID of the signed-in user; "" for FORBIDDEN, "new" for a new user
		}{
			{"unverified address", as("1", "ada@example.com", false), ""},
			{"invalid email_verified", as("1", "ada@example.com", "yes"), ""},
			{"no address", as("1", "", true), ""},
			{"account with a password", as("2", "boss@example.com", true), ""},
			{"disabled user", as("3", "off@example.com", true), ""},
			{"not invited", as("4", "eve@example.com", true), ""},
			{"invited user", as("1", "ADA@example.com", true), ada.ID},
			{"linked user with changed address", as("1", "ada@elsewhere.example", false), ada.ID},
			{"other subject with the same address", as("5", "ada@example.com", true), ""},
			{"allowed domain, unverified", as("6", "bob@allowed.example", false), ""},
			{"subdomain", as("6", "bob@sub.allowed.example", true), ""},
			{"address with two @", as("6", "bob@allowed.example@evil.example", true), ""},
			{"allowed domain", as("6", "bob@ALLOWED.example", "true"), "new"},
			{"allowed domain, address in use", as("7", "bob@allowed.example", true), ""},
		} {
			t.Run(step.name, func(t *testing.T) {
				f.Behave(step.person)
				in, err := w.signIn(t, f)
				switch {
				case step.id == "":
					want(t, err, fault.CodeForbidden)
				case err != nil:
					t.Error(err)
				case step.id == "new":
					if p := in.Session.Person; p.Role != models.RoleViewer || p.Email != "bob@ALLOWED.example" {
						t.Errorf("new user = %+v", p)
					}
				case in.Session.Person.ID != step.id:
					t.Errorf("signed in as %+v", in.Session.Person)
				}
			})
		}
		if err := w.people.Disable(t.Context(), ada.ID); err != nil {
			t.Fatal(err)
		}
		f.Behave(as("1", "ada@example.com", true))
		_, err := w.signIn(t, f)
		want(t, err, fault.CodeForbidden)
		if p, err := w.people.Get(t.Context(), boss.ID); err != nil || p.HasIdentity {
			t.Errorf("administrator was linked: %+v, %v", p, err)
		}
		var actions []string
		if err := w.db.Model(&models.AuditEntry{}).Where("action IN ?", []string{"person.linked", "login.succeeded"}).Order("seq").Pluck("action", &actions).Error; err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(actions, " "); got != "person.linked login.succeeded login.succeeded login.succeeded" {
			t.Errorf("audit actions = %s", got)
		}
	})
}

// emailVerification covers providers such as Okta, which send email in the ID
// token and email_verified only in the user info.
func emailVerification(t *testing.T) {
	const email, other = "ada@example.com", "eve@example.com"
	type object = map[string]any
	verified := func(address string, value any) object {
		return object{"sub": "1234", "email": address, "email_verified": value}
	}
	for _, tt := range []struct {
		name     string
		token    object // email claims of the ID token
		info     object // response of the user info endpoint; nil without one
		down     bool
		requests int64
		want     fault.Code // "" signs in
	}{
		{"true in the ID token", object{"email": email, "email_verified": true}, verified(email, false), false, 0, ""},
		{"false in the ID token", object{"email": email, "email_verified": false}, verified(email, true), false, 0, fault.CodeForbidden},
		{"absent without user info", object{"email": email}, nil, false, 0, fault.CodeForbidden},
		{"true in the user info", object{"email": email}, verified(email, true), false, 1, ""},
		{"text in the user info", object{"email": email}, verified(email, "true"), false, 1, ""},
		{"null in the ID token", object{"email": email, "email_verified": nil}, verified(email, true), false, 1, ""},
		{"false in the user info", object{"email": email}, verified(email, false), false, 1, fault.CodeForbidden},
		{"absent in both", object{"email": email}, object{"sub": "1234", "email": email}, false, 1, fault.CodeForbidden},
		{"address in other case", object{"email": email}, verified("Ada@Example.com", true), false, 1, ""},
		{"other address in the user info", object{"email": email}, verified(other, true), false, 1, fault.CodeForbidden},
		{"no address in the user info", object{"email": email}, object{"sub": "1234", "email_verified": true}, false, 1, fault.CodeForbidden},
		{"address in the user info only", nil, verified(email, true), false, 1, ""},
		{"unverified address in the user info only", nil, verified(email, false), false, 1, fault.CodeForbidden},
		{"status in the ID token, address in the user info", object{"email_verified": true}, object{"sub": "1234", "email": email}, false, 1, fault.CodeForbidden},
		{"other subject in the user info", object{"email": email}, object{"sub": "9", "email": email, "email_verified": true}, false, 1, fault.CodeUnauthorized},
		{"user info down", object{"email": email}, verified(email, true), true, 1, fault.CodeUnavailable},
		{"user info down but not needed", object{"email": email, "email_verified": true}, verified(email, true), true, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &clock{}
			f := oidctest.NewFake(t, c.Now)
			w := join(t, modelstest.SQLite(t), f.Issuer, c)
			w.invite(t, email, models.RoleViewer, "")
			f.Behave(oidctest.Behavior{UserInfo: tt.info, InfoDown: tt.down, Token: func(_, claims map[string]any) {
				delete(claims, "email")
				delete(claims, "email_verified")
				maps.Copy(claims, tt.token)
			}})
			in, err := w.signIn(t, f)
			switch {
			case tt.want != "":
				want(t, err, tt.want)
			case err != nil || in.Session.Person.Email != email:
				t.Errorf("Finish() = %+v, %v, want a session of %s", in.Session.Person, err, email)
			}
			if n := f.UserInfos.Load(); n != tt.requests {
				t.Errorf("%d requests for user info, want %d", n, tt.requests)
			}
		})
	}
}
