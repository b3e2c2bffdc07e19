package oauthserver

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// privateSchemes returns the custom schemes allowed for redirect URIs besides
// https and loopback http (RFC 8252, section 7.1).
func privateSchemes() []string {
	return []string{"cursor", "vscode", "vscode-insiders", "windsurf", "claude"}
}

// redirectKind is the kind of a redirect target.
type redirectKind uint8

const (
	redirectSite     redirectKind = iota + 1 // a web site
	redirectLoopback                         // a program on the same computer, by port
	redirectScheme                           // a program on the same computer, by scheme
)

// redirectURI is a valid redirect URI.
type redirectURI struct {
	raw  string
	url  *url.URL
	kind redirectKind
}

// parseRedirectURI parses a redirect URI. The error is the reason for which it
// is invalid (RFC 8252; OAuth 2.1, section 2.3).
func parseRedirectURI(raw string) (redirectURI, error) {
	r := redirectURI{raw: raw}
	switch {
	case raw == "":
		return r, fmt.Errorf("a redirect URI must not be empty")
	case len(raw) > MaxRedirectURI:
		return r, fmt.Errorf("a redirect URI has at most %d bytes", MaxRedirectURI)
	case strings.ContainsFunc(raw, func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune("\\*\"<>^`{|}", c) }):
		return r, fmt.Errorf("a redirect URI must not have spaces, wildcards or other invalid characters")
	case strings.Contains(raw, "#"):
		return r, fmt.Errorf("a redirect URI must not have a fragment")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return r, fmt.Errorf("a redirect URI must be an absolute URI")
	case u.User != nil || strings.Contains(u.Host, "@"):
		return r, fmt.Errorf("a redirect URI must not have a user name")
	case !isPlainHost(u):
		return r, fmt.Errorf("a redirect URI must have a valid host name and port")
	}
	r.url = u
	switch host := strings.ToLower(u.Hostname()); {
	case u.Scheme == "https" && host != "":
		r.kind = redirectSite
	case u.Scheme == "http" && isLoopback(host):
		r.kind = redirectLoopback
	case u.Scheme == "http":
		return r, fmt.Errorf("a redirect URI with http must be on localhost, 127.0.0.1 or [::1]")
	case slices.Contains(privateSchemes(), u.Scheme) && u.Opaque == "":
		r.kind = redirectScheme
	default:
		return r, fmt.Errorf("a redirect URI must use https, http to this computer, or one of the schemes %s", strings.Join(privateSchemes(), ", "))
	}
	return r, nil
}

// isPlainHost reports whether a URL's host can be written to a header
// unchanged.
func isPlainHost(u *url.URL) bool {
	host := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Zone() != "" {
			return false
		}
	} else if strings.ContainsFunc(host, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_'
	}) {
		return false
	}
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.Atoi(u.Port())
	return err == nil && port > 0 && port <= 65535
}

// isLoopback reports whether a host is a loopback name allowed in redirect URIs
// (RFC 8252, section 7.3).
func isLoopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// registeredAs reports whether the redirect URI equals a registered one. On a
// loopback host, the port and a path of only a slash are ignored (RFC 8252,
// section 7.3). Hosts must be equal.
func (r redirectURI) registeredAs(registered string) bool {
	if r.raw == registered {
		return true
	}
	other, err := parseRedirectURI(registered)
	return err == nil && r.kind == redirectLoopback && other.kind == redirectLoopback &&
		strings.EqualFold(r.url.Hostname(), other.url.Hostname()) &&
		pathOf(r.url) == pathOf(other.url) && r.url.RawQuery == other.url.RawQuery && r.url.ForceQuery == other.url.ForceQuery
}

func pathOf(u *url.URL) string {
	if p := u.EscapedPath(); p != "" {
		return p
	}
	return "/"
}

// with returns the URL with the parameters of a response.
func (r redirectURI) with(answer url.Values) string {
	separator := "?"
	switch {
	case strings.HasSuffix(r.raw, "?"):
		separator = ""
	case strings.Contains(r.raw, "?"):
		separator = "&"
	}
	return r.raw + separator + answer.Encode()
}

// name returns the redirect target for display.
func (r redirectURI) name() string {
	if r.kind == redirectScheme {
		return r.url.Scheme + "://" + r.url.Host
	}
	return strings.ToLower(r.url.Host)
}

// source returns the form-action source of the redirect URI (CSP Level 3,
// section 2.3.1). CSP can't express IPv6 addresses, so for those it is the
// whole http scheme.
func (r redirectURI) source() string {
	switch {
	case r.kind == redirectScheme:
		return r.url.Scheme + ":"
	case strings.HasPrefix(r.url.Host, "["):
		return r.url.Scheme + ":"
	default:
		return r.url.Scheme + "://" + strings.ToLower(r.url.Host)
	}
}
