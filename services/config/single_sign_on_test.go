package config_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/services/config"
)

const (
	issuer   = "GATEWAY_OIDC_ISSUER=https://login.example.com/tenant"
	clientID = "GATEWAY_OIDC_CLIENT_ID=gateway"
)

func TestSingleSignOnIsOffByDefault(t *testing.T) {
	if c := mustLoad(t); c.SingleSignOn.Configured() {
		t.Errorf("loaded %+v", c.SingleSignOn)
	}
}

func TestSingleSignOnSettings(t *testing.T) {
	const canary = "s3cret-of-the-client"
	c := mustLoad(t, issuer, clientID, "GATEWAY_OIDC_CLIENT_SECRET="+canary, "GATEWAY_OIDC_ALLOWED_DOMAINS=Example.com, sub.example.org,")
	s := c.SingleSignOn
	if !s.Configured() || s.Issuer != "https://login.example.com/tenant" || s.ClientID != "gateway" || s.ClientSecret.Reveal() != canary {
		t.Errorf("loaded %+v", s)
	}
	if d := cmp.Diff([]string{"example.com", "sub.example.org"}, s.AllowedDomains); d != "" {
		t.Errorf("domains (-want +got):\n%s", d)
	}
	if strings.Contains(fmt.Sprintf("%+v %#v", c, s), canary) {
		t.Error("the configuration prints the client's secret")
	}
	if s := mustLoad(t, issuer, clientID).SingleSignOn; !s.Configured() || !s.ClientSecret.IsZero() || s.AllowedDomains != nil {
		t.Errorf("a public client loads as %+v", s)
	}
}

func TestSingleSignOnMistakes(t *testing.T) {
	wantMistakes(t, []string{withKeys, clientID, "GATEWAY_OIDC_CLIENT_SECRET=x", "GATEWAY_OIDC_ALLOWED_DOMAINS=example.com"},
		"GATEWAY_OIDC_CLIENT_ID: requires GATEWAY_OIDC_ISSUER", "GATEWAY_OIDC_CLIENT_SECRET: requires GATEWAY_OIDC_ISSUER", "GATEWAY_OIDC_ALLOWED_DOMAINS: requires GATEWAY_OIDC_ISSUER")
	wantMistakes(t, []string{withKeys, issuer}, "GATEWAY_OIDC_CLIENT_ID: set it")
	for _, domain := range []string{"example", "*.example.com", "@example.com", "exa mple.com", "example.com.", "-a.example"} {
		wantMistakes(t, []string{withKeys, issuer, clientID, "GATEWAY_OIDC_ALLOWED_DOMAINS=" + domain}, "GATEWAY_OIDC_ALLOWED_DOMAINS: ")
	}
	for address, ok := range map[string]bool{
		"https://login.example.com": true, "https://login.example.com/": true, "https://login.example.com:8443/a/b": true, "http://127.0.0.1:1": true, "http://localhost:1": true, "http://[::1]:1": true,
		"http://login.example.com": false, "http://10.0.0.1": false, "login.example.com": false, "https://": false, "https://u:p@login.example.com": false, "https://login.example.com?x=1": false,
		"https://login.example.com#x": false, "https://login.example.com/?": false, "ftp://login.example.com": false,
	} {
		_, err := config.Load([]string{withKeys, clientID, "GATEWAY_OIDC_ISSUER=" + address}, "")
		if (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(), "GATEWAY_OIDC_ISSUER: ") {
			t.Errorf("%s: got %v", address, err)
		}
	}
}

func TestGroupSettings(t *testing.T) {
	s := mustLoad(t).SingleSignOn
	if s.GroupsClaim != "groups" || s.GroupsMaxAge != 168*time.Hour || s.DefaultRole != models.RoleViewer || len(s.Scopes) != 0 {
		t.Errorf("defaults = %+v", s)
	}
	s = mustLoad(t, issuer, clientID, "GATEWAY_OIDC_GROUPS_CLAIM=realm_access.roles", "GATEWAY_OIDC_SCOPES=groups, offline_access roles", "GATEWAY_OIDC_DEFAULT_ROLE=member").SingleSignOn
	if d := cmp.Diff([]string{"groups", "offline_access", "roles"}, s.Scopes); d != "" || s.GroupsClaim != "realm_access.roles" || s.DefaultRole != models.RoleMember {
		t.Errorf("loaded %+v (-want +got):\n%s", s, d)
	}
	for age, ok := range map[string]bool{"59m59s": false, "1h": true, "2160h": true, "2160h0m1s": false, "0s": false, "-1h": false, "7d": false} {
		_, err := config.Load([]string{withKeys, issuer, clientID, "GATEWAY_OIDC_GROUPS_MAX_AGE=" + age}, "")
		if (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(), "GATEWAY_OIDC_GROUPS_MAX_AGE: ") {
			t.Errorf("%s: got %v", age, err)
		}
	}
	wantMistakes(t, []string{withKeys, "GATEWAY_OIDC_SCOPES=groups"}, "GATEWAY_OIDC_SCOPES: requires GATEWAY_OIDC_ISSUER")
	wantMistakes(t, []string{withKeys, issuer, clientID, "GATEWAY_OIDC_SCOPES=a\"b"}, "GATEWAY_OIDC_SCOPES: ")
	wantMistakes(t, []string{withKeys, issuer, clientID, "GATEWAY_OIDC_DEFAULT_ROLE=admin"}, "GATEWAY_OIDC_DEFAULT_ROLE: use viewer or member")
	wantMistakes(t, []string{withKeys, issuer, clientID, "GATEWAY_OIDC_GROUPS_CLAIM=" + strings.Repeat("x", 257)}, "GATEWAY_OIDC_GROUPS_CLAIM: ")
}
