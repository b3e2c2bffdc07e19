package oauthserver

import (
	"net/url"
	"strings"
)

// endpointOf returns the project slug of a resource indicator (RFC 8707,
// section 2). Scheme and host are case-insensitive, and a trailing slash is
// ignored. It returns "" for an empty resource and for the origin, for which
// the user chooses the project. Anything else is invalid_target.
func (s *Server) endpointOf(resource string) (slug string, err error) {
	if resource == "" {
		return "", nil
	}
	refused := refuse(InvalidTarget, "the resource is not an endpoint of this gateway")
	u, err := url.Parse(resource)
	if err != nil || u.User != nil || u.Opaque != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(resource, "#") || originOf(u) != originOf(s.issuer) {
		return "", refused
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	if path == "" {
		return "", nil
	}
	rest, ok := strings.CutPrefix(path, "/v1/mcp/")
	if !ok {
		return "", refused
	}
	slug, endpoint, ok := strings.Cut(rest, "/")
	if !ok || slug == "" || endpoint != "request" && endpoint != "sse" || strings.Contains(slug, "%") {
		return "", refused
	}
	return slug, nil
}

// originOf returns the lower-case scheme, host and port, without the scheme's
// default port (RFC 6454, section 4).
func originOf(u *url.URL) string {
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		port = ""
	}
	return scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
