package config

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/secrets"
)

// SingleSignOn is the identity provider for sign-in (OpenID Connect Discovery
// 1.0).
type SingleSignOn struct {
	Issuer         string // empty without single sign-on; compared exactly
	ClientID       string
	ClientSecret   secrets.Value // empty for a public client
	AllowedDomains []string      // domains of verified email addresses that need no invitation, in lower case
	DefaultRole    models.Role   // of users of AllowedDomains: viewer or member
	Scopes         []string      // requested in addition to openid, email and profile
	GroupsClaim    string        // name of the claim with the user's groups, or its path with dots
	GroupsMaxAge   time.Duration // how long a reported group counts after the sign-in
}

// Limits of GroupsMaxAge, and of the length of GroupsClaim and of a scope in
// bytes.
const (
	minGroupsMaxAge = time.Hour
	maxGroupsMaxAge = 2160 * time.Hour
	maxOIDCName     = 256
)

// Configured reports whether single sign-on is configured.
func (s SingleSignOn) Configured() bool { return s.Issuer != "" }

// isDomain reports whether a lower-case text is a domain of at least two
// labels.
func isDomain(text string) bool {
	labels := strings.Split(text, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return len(labels) > 1
}

func (r *loader) singleSignOn(vars variables) SingleSignOn {
	s := SingleSignOn{
		Issuer: vars.OIDCIssuer, ClientID: vars.OIDCClientID, ClientSecret: secrets.NewValue(vars.OIDCSecret), DefaultRole: models.Role(vars.OIDCRole),
		Scopes: strings.FieldsFunc(vars.OIDCScopes, func(c rune) bool { return c == ' ' || c == ',' }), GroupsClaim: vars.OIDCGroups, GroupsMaxAge: vars.OIDCGroupsAge,
	}
	r.groups(s)
	for _, d := range split(strings.ToLower(vars.OIDCDomains)) {
		if !isDomain(d) {
			r.addProblem("GATEWAY_OIDC_ALLOWED_DOMAINS: %q is not a domain such as example.com", d)
			continue
		}
		s.AllowedDomains = append(s.AllowedDomains, d)
	}
	if s.Issuer == "" {
		for name, value := range map[string]string{
			"GATEWAY_OIDC_CLIENT_ID": vars.OIDCClientID, "GATEWAY_OIDC_CLIENT_SECRET": vars.OIDCSecret, "GATEWAY_OIDC_ALLOWED_DOMAINS": vars.OIDCDomains,
			"GATEWAY_OIDC_SCOPES": vars.OIDCScopes,
		} {
			if value != "" {
				r.addProblem("%s: requires GATEWAY_OIDC_ISSUER", name)
			}
		}
		return s
	}
	if problem := issuerProblem(s.Issuer); problem != "" {
		r.addProblem("GATEWAY_OIDC_ISSUER: %s", problem)
	}
	if s.ClientID == "" {
		r.addProblem("GATEWAY_OIDC_CLIENT_ID: set it to this gateway's client id at the identity provider")
	}
	return s
}

// groups validates the settings of roles and groups.
func (r *loader) groups(s SingleSignOn) {
	if s.DefaultRole != models.RoleViewer && s.DefaultRole != models.RoleMember {
		r.addProblem("GATEWAY_OIDC_DEFAULT_ROLE: use viewer or member")
	}
	for _, scope := range s.Scopes {
		if !isScope(scope) {
			r.addProblem("GATEWAY_OIDC_SCOPES: %q is not a scope such as groups", scope)
		}
	}
	if strings.TrimSpace(s.GroupsClaim) != s.GroupsClaim || len(s.GroupsClaim) > maxOIDCName {
		r.addProblem("GATEWAY_OIDC_GROUPS_CLAIM: use the name of a claim such as groups, or a path such as realm_access.roles")
	}
	if (s.GroupsMaxAge < minGroupsMaxAge || s.GroupsMaxAge > maxGroupsMaxAge) && !r.isReported("GATEWAY_OIDC_GROUPS_MAX_AGE") {
		r.addProblem("GATEWAY_OIDC_GROUPS_MAX_AGE: use a duration from 1h to 2160h")
	}
}

// isScope reports whether text is a scope token (RFC 6749, section 3.3).
func isScope(text string) bool {
	return text != "" && len(text) <= maxOIDCName && !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '"' || c == '\\' })
}

// issuerProblem returns the problem of an issuer URL, or "".
func issuerProblem(issuer string) string {
	u, err := url.Parse(issuer)
	if err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.ContainsAny(issuer, "?# ") {
		return "use the issuer of the discovery document, such as https://login.example.com"
	}
	addr, addrErr := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || addrErr == nil && addr.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return "use https; http requires a provider on this machine"
	}
	return ""
}
