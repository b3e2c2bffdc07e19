package config

import (
	"net/netip"
	"net/url"
	"strings"

	"mcpgateway/services/secrets"
)

// SingleSignOn is the identity provider for sign-in (OpenID Connect Discovery
// 1.0).
type SingleSignOn struct {
	Issuer         string // empty without single sign-on; compared exactly
	ClientID       string
	ClientSecret   secrets.Value // empty for a public client
	AllowedDomains []string      // domains of verified email addresses that need no invitation, in lower case
}

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
	s := SingleSignOn{Issuer: vars.OIDCIssuer, ClientID: vars.OIDCClientID, ClientSecret: secrets.NewValue(vars.OIDCSecret)}
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
