package config

import (
	"net/netip"
	"net/url"
	"strings"

	"mcpgateway/services/secrets"
)

// SingleSignOn says with which identity provider people may sign in (OpenID
// Connect Discovery 1.0).
type SingleSignOn struct {
	Issuer         string // empty without single sign-on; compared exactly
	ClientID       string
	ClientSecret   secrets.Value // empty for a public client
	AllowedDomains []string      // of verified e-mail addresses whose people are let in without an invitation, in lower case
}

// Configured reports whether there is single sign-on at all.
func (s SingleSignOn) Configured() bool { return s.Issuer != "" }

// isDomain reports whether a text in lower case is a domain of two or more labels.
func isDomain(text string) bool {
	labels := strings.Split(text, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return len(labels) > 1
}

func (r *reader) singleSignOn(vars variables) SingleSignOn {
	s := SingleSignOn{Issuer: vars.OIDCIssuer, ClientID: vars.OIDCClientID, ClientSecret: secrets.NewValue(vars.OIDCSecret)}
	for _, d := range split(strings.ToLower(vars.OIDCDomains)) {
		if !isDomain(d) {
			r.mistake("GATEWAY_OIDC_ALLOWED_DOMAINS: %q is not a domain such as example.com", d)
			continue
		}
		s.AllowedDomains = append(s.AllowedDomains, d)
	}
	if s.Issuer == "" {
		for name, value := range map[string]string{
			"GATEWAY_OIDC_CLIENT_ID": vars.OIDCClientID, "GATEWAY_OIDC_CLIENT_SECRET": vars.OIDCSecret, "GATEWAY_OIDC_ALLOWED_DOMAINS": vars.OIDCDomains,
		} {
			if value != "" {
				r.mistake("%s: set GATEWAY_OIDC_ISSUER too, it says which identity provider this is for", name)
			}
		}
		return s
	}
	if problem := issuerProblem(s.Issuer); problem != "" {
		r.mistake("GATEWAY_OIDC_ISSUER: %s", problem)
	}
	if s.ClientID == "" {
		r.mistake("GATEWAY_OIDC_CLIENT_ID: set it to the client id under which the identity provider knows this gateway")
	}
	return s
}

// issuerProblem returns what is wrong with an issuer's address, or nothing.
func issuerProblem(issuer string) string {
	u, err := url.Parse(issuer)
	if err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.ContainsAny(issuer, "?# ") {
		return "use the issuer's address as its discovery document has it, such as https://login.example.com"
	}
	addr, addrErr := netip.ParseAddr(u.Hostname())
	loopback := u.Hostname() == "localhost" || addrErr == nil && addr.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return "use https; http is for a provider on this machine only"
	}
	return ""
}
