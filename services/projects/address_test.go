package projects_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/projects"
	"mcpgateway/services/secrets"
)

// withURL declares a server with the URL.
func withURL(address string) string {
	return `{"projects":{"p":{"mcpServers":{"s":{"url":` + quote(address) + `}}}}}`
}

// address returns the request URL of the server, or the error.
func (s *store) address(t tester) string {
	t.Helper()
	env := secrets.NewEnvironment([]string{"MCP_UPSTREAM_*"}, func(name string) (string, bool) { return "of " + name + "&", true })
	got, err := projects.Address(s.server(t, "p", "s"), secrets.NewResolver(s.ring, env).Resolve)
	if err != nil {
		return fault.From(err).Message
	}
	return got
}

func TestQueryValuesAreSealed(t *testing.T) {
	tests := []struct{ name, url, shown, sent string }{
		{"no query", "https://up.example/mcp", "https://up.example/mcp", ""},
		{"empty query", "https://up.example/mcp?", "https://up.example/mcp?", ""},
		{"value", "https://up.example/mcp?api_key=" + canary, "https://up.example/mcp?api_key=[secret]", ""},
		{"values", "https://up.example/?a=" + canary + "&b=&c=" + canary + "2", "https://up.example/?a=[secret]&b=&c=[secret]", ""},
		{"repeated name", "https://up.example/?a=" + canary + "1&a=" + canary + "2", "https://up.example/?a=[secret]&a=[secret]", ""},
		{"value without a name", "https://up.example/?" + canary, "https://up.example/?[secret]", ""},
		{"escapes", "https://up.example/?a=" + canary + "%2F+%20%zz", "https://up.example/?a=[secret]", ""},
		{"reference", "https://up.example/?a=${MCP_UPSTREAM_A}&b=" + canary, "https://up.example/?a=${MCP_UPSTREAM_A}&b=[secret]", "https://up.example/?a=of+MCP_UPSTREAM_A%26&b=" + canary},
		{"escaped reference", "https://up.example/?a=%24%7BMCP_UPSTREAM_A%7D", "https://up.example/?a=${MCP_UPSTREAM_A}", "https://up.example/?a=of+MCP_UPSTREAM_A%26"},
	}
	each(t, func(t *testing.T, s *store) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				s.apply(t, `{"projects":{}}`, projects.ApplyOptions{Prune: true})
				s.apply(t, withURL(tt.url))
				want := tt.sent
				if want == "" {
					want = tt.url
				}
				if row := s.server(t, "p", "s"); row.URL != tt.shown || s.address(t) != want {
					t.Errorf("displayed %q, sent %q, want %q and %q", row.URL, s.address(t), tt.shown, want)
				}
				if file := s.export(t, ""); !strings.Contains(file, `"url": "`+tt.shown+`"`) {
					t.Errorf("export = %s", file)
				}
				if all := s.everything(t); strings.Contains(all, canary) {
					t.Errorf("the database contains the value: %s", all)
				}
				for _, again := range []string{withURL(tt.url), withURL(tt.shown), s.export(t, "")} {
					wantPlan(t, s.apply(t, again), "keep p", "keep p/s")
				}
				if s.address(t) != want {
					t.Errorf("requests after the second apply go to %q", s.address(t))
				}
			})
		}
	})
}

func TestQueryValuesAreKeptByName(t *testing.T) {
	s := sqliteStore(t)
	for _, step := range []struct{ url, sent string }{
		{"https://up.example/?a=1&b=2&a=3", "https://up.example/?a=1&b=2&a=3"},
		{"https://up.example/?b=[secret]&a=[secret]&a=[secret]", "https://up.example/?b=2&a=1&a=3"},
		{"https://up.example/other?b=%5Bsecret%5D&a=new", "https://up.example/other?b=2&a=new"},
		{"https://up.example/?a=[secret]&c=4", "https://up.example/?a=new&c=4"},
		{"https://up.example/?a=[secret]&b=[secret]", "Server s has no value for b in the query of its URL. Set one."},
		{"https://up.example/", "https://up.example/"},
		{"https://up.example/?a=[secret]", "Server s has no value for a in the query of its URL. Set one."},
	} {
		plan := s.apply(t, withURL(step.url))
		if got := s.address(t); got != step.sent {
			t.Errorf("%s: requests go to %q, want %q", step.url, got, step.sent)
		}
		if missing := strings.Contains(step.sent, "no value"); missing != (len(plan.Warnings) == 1) {
			t.Errorf("%s: warnings = %q", step.url, plan.Warnings)
		}
	}
}

func TestQueryReferencesAreChecked(t *testing.T) {
	s := sqliteStore(t)
	for value, why := range map[string]string{"${HOME}": "GATEWAY_ENV_ALLOW", "${GATEWAY_ADMIN_TOKEN}": "is reserved for the gateway", "x${MCP_UPSTREAM_A}": "whole value"} {
		_, err := s.tryApply(t, withURL("https://up.example/?a="+value))
		wantProblem(t, err, why, "projects.p.mcpServers.s.url")
	}
}

func TestMaskedURLLimit(t *testing.T) {
	s := sqliteStore(t)
	const base, value = "https://up.example/?", len("a=[secret]&")
	for left, ok := range map[int]bool{1: true, 0: true, -1: false} {
		n := (declaration.MaxURL - len(base)) / value
		path := strings.Repeat("x", declaration.MaxURL-len(base)-n*value-left+1)
		_, err := s.tryApply(t, withURL("https://up.example/"+path+"?"+strings.TrimSuffix(strings.Repeat("a=1&", n), "&")))
		if ok != (err == nil) {
			t.Errorf("%d characters left: %v %v", left, err, fieldsOf(err))
		}
	}
}

func TestQueryValuesAreCredentials(t *testing.T) {
	row := models.Server{URL: "https://up.example/?a=[secret]", URLSecrets: models.StringList{"v1:k:x"}}
	for address, want := range map[string]bool{
		row.URL: false, "https://up.example/?a=new": true, "https://elsewhere.example/?a=[secret]": true, "https://up.example/": true,
	} {
		if got := projects.TouchesCredentials(row, &declaration.Server{URL: &address}); got != want {
			t.Errorf("TouchesCredentials(%q) = %v, want %v", address, got, want)
		}
	}
	if !projects.HasCredentials(row) || projects.HasCredentials(models.Server{URL: "https://up.example/?a="}) {
		t.Error("HasCredentials() is wrong for query values")
	}
}

// TestStoredURLsAreSealed migrates rows with query values in cleartext.
func TestStoredURLsAreSealed(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.apply(t, withURL("https://up.example/"))
		id := s.server(t, "p", "s").ID
		plain := "https://up.example/?a=" + canary + "&b=x${" + canary + "}&c=${HOME}"
		for _, err := range []error{
			s.db.Model(&models.Server{}).Where("id = ?", id).Update("url", plain).Error,
			s.db.Create(&models.Connection{ServerID: id, State: "connected", ServerURL: plain, CreatedAt: s.now, UpdatedAt: s.now}).Error,
			s.db.Create(&models.ConnectionFlow{StateHash: make([]byte, 32), ServerID: id, ServerURL: plain, CreatedAt: s.now, ExpiresAt: s.now}).Error,
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := s.SealAddresses(t.Context()); err != nil {
				t.Fatal(err)
			}
			const shown = "https://up.example/?a=[secret]&b=[secret]&c=${HOME}"
			row := s.server(t, "p", "s")
			var connection models.Connection
			var flow models.ConnectionFlow
			for _, err := range []error{s.db.First(&connection).Error, s.db.First(&flow).Error} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff([]string{shown, shown, shown}, []string{row.URL, connection.ServerURL, flow.ServerURL}); d != "" {
				t.Errorf("URLs (-want +got):\n%s", d)
			}
			sent, err := projects.Address(row, func(stored, at string) (secrets.Value, error) {
				if !isSealed(stored) {
					return secrets.NewValue("home"), nil
				}
				return s.ring.Open(stored, at)
			})
			if want := "https://up.example/?a=" + canary + "&b=x%24{" + canary + "}&c=home"; err != nil || sent != want {
				t.Errorf("requests go to %q, want %q (%v)", sent, want, err)
			}
		}
		if all := fmt.Sprint(s.everything(t)); strings.Contains(all, canary) {
			t.Errorf("the database contains a value: %s", all)
		}
	})
}
