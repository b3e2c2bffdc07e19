package main

import (
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
)

func TestAdminCreate(t *testing.T) {
	environ := surroundings(t, "GATEWAY_PUBLIC_URL=https://gateway.example")
	code, out, errs := commandLine(t, environ, "", "admin", "setup-link")
	link, err := url.Parse(strings.TrimSpace(out))
	if code != 0 || err != nil || link.Host != "gateway.example" || link.Path != "/setup" || len(link.Query().Get("token")) < 40 {
		t.Fatalf("setup-link: %d %q %q", code, out, errs)
	}
	const password = "an admin's long secret"
	for _, c := range []struct {
		in   string
		args []string
		code int
		out  func(string) bool
		errs string
	}{
		{"", []string{"admin"}, exitUsage, empty, "create, setup-link or reset-factors"},
		{"", []string{"admin", "delete"}, exitUsage, empty, "create, setup-link or reset-factors"},
		{"", []string{"admin", "create"}, exitUsage, empty, "--email is required"},
		{"", []string{"admin", "create", "--email", "ada@example.com", "--password-stdin"}, exitUsage, empty, "no password"},
		{"short\n", []string{"admin", "create", "--email", "ada@example.com", "--password-stdin"}, exitFailed, empty, "at least 12"},
		{"", []string{"admin", "create", "--email", "ada"}, exitFailed, empty, "email address"},
		{password + "\r\n", []string{"admin", "create", "--email", "ada@example.com", "--password-stdin"}, 0, empty, ""},
		{password, []string{"admin", "create", "--email", "ADA@example.com", "--password-stdin"}, exitFailed, empty, "already"},
		{"", []string{"admin", "create", "--email", "bob@example.com"}, 0, func(s string) bool { return len(strings.TrimSpace(s)) == 26 }, ""},
		{"", []string{"admin", "setup-link"}, exitFailed, empty, "Setup is complete"},
		{"", []string{"admin", "reset-factors"}, exitUsage, empty, "--email is required"},
		{"", []string{"admin", "reset-factors", "--email", "nobody@example.com"}, exitFailed, empty, "nobody@example.com"},
		{"", []string{"admin", "reset-factors", "--email", "ada@example.com"}, exitFailed, empty, "has no second factor"},
	} {
		code, out, errs := commandLine(t, environ, c.in, c.args...)
		if code != c.code || !c.out(out) || !strings.Contains(errs, c.errs) || c.code != 0 && strings.Count(errs, "\n") != 1 || strings.Contains(errs, password) {
			t.Errorf("%q: %d %q %q", c.args, code, out, errs)
		}
	}
	sso := append(environ, "GATEWAY_OIDC_ISSUER=https://login.example.com", "GATEWAY_OIDC_CLIENT_ID=gateway")
	if code, out, errs := commandLine(t, sso, "", "admin", "create", "--email", "carol@example.com"); code != 0 || out != "" {
		t.Errorf("invitation: %d %q %q", code, out, errs)
	}
	s, err := open(t.Context(), streams{out: &output{}, err: &output{}, environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	in, err := s.People.SignIn(t.Context(), "ada@example.com", secrets.NewValue(password), access.Browser{IP: "127.0.0.1"})
	if err != nil || in.Session.Person.Role != "admin" {
		t.Errorf("sign-in: %+v, %v", in.Session.Person, err)
	}
	if err := s.DB.Create(&models.AuthenticatorApp{ID: "f", UserID: in.Session.Person.ID, Name: "Phone", CreatedAt: in.Session.CreatedAt}).Error; err != nil {
		t.Fatal(err)
	}
	if code, out, errs := commandLine(t, environ, "", "admin", "reset-factors", "--email", "ADA@example.com"); code != 0 || out != "" {
		t.Errorf("reset-factors: %d %q %q", code, out, errs)
	}
	if set, err := s.Factors.Of(t.Context(), in.Session.Person.ID); err != nil || len(set.Factors) != 0 {
		t.Errorf("factors left: %+v, %v", set, err)
	}
	list, err := s.People.List(t.Context())
	if err != nil || len(list) != 3 || !list[1].HasPassword || list[2].HasPassword {
		t.Errorf("people %+v, %v", list, err)
	}
}

func TestSetupLinkIsLogged(t *testing.T) {
	s, err := open(t.Context(), streams{out: &output{}, err: &output{}, environ: surroundings(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, over := range []bool{false, true} {
		var said output
		if err := announceSetup(t.Context(), s, slog.New(slog.NewTextHandler(&said, nil))); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(said.String(), "http://127.0.0.1:8080/setup?token="); got == over {
			t.Errorf("setup done %v: log is %q", over, said.String())
		}
		if !over {
			person := access.NewUser{Email: "ada@example.com", Role: "admin", Password: secrets.NewValue("an admin's long secret")}
			if _, err := s.People.Create(t.Context(), person); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func empty(s string) bool { return s == "" }
