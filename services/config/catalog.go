package config

import (
	"net/mail"
	"net/url"
)

// catalogReport parses GATEWAY_CATALOG_REPORT_URL. It returns nil for an empty
// value and adds a problem for an invalid one.
func (r *loader) catalogReport(value string) *url.URL {
	if value == "" {
		return nil
	}
	u, err := url.Parse(value)
	switch {
	case err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.Fragment == "":
		return u
	case err == nil && u.Scheme == "mailto" && isMailbox(u.Opaque):
		return u
	}
	r.addProblem("GATEWAY_CATALOG_REPORT_URL: use an https: or mailto: URL such as https://issues.example.com/new or mailto:catalog@example.com, not %q", value)
	return nil
}

// isMailbox reports whether s is one plain email address (RFC 6068, section 2).
func isMailbox(s string) bool {
	address, err := mail.ParseAddress(s)
	return err == nil && address.Address == s
}
