package oauthserver

import (
	"net/url"
	"strings"
)

// target is the resource of a requested token: an endpoint or a view of the catalog.
// The zero value leaves the choice of the project to the user.
type target struct {
	project string // slug
	toolset string // slug; empty for the project's endpoint
	view    string // name; the others are empty
}

// targetOf returns the target of a resource indicator (RFC 8707, section 2).
// Scheme and host are case-insensitive, and a trailing slash is ignored. It
// returns the zero target for an empty resource and for the origin. Anything
// else is invalid_target.
func (s *Server) targetOf(resource string) (target, error) {
	if resource == "" {
		return target{}, nil
	}
	refused := refuse(InvalidTarget, "the resource is not an endpoint or a gated view of this gateway")
	u, err := url.Parse(resource)
	if err != nil || u.User != nil || u.Opaque != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(resource, "#") || originOf(u) != originOf(s.issuer) {
		return target{}, refused
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	if path == "" {
		return target{}, nil
	}
	if view, ok := strings.CutPrefix(path, "/views/"); ok && view != "" && !strings.ContainsAny(view, "/%") {
		return target{view: view}, nil
	}
	rest, ok := strings.CutPrefix(path, "/v1/mcp/")
	if !ok || strings.Contains(rest, "%") {
		return target{}, refused
	}
	parts := strings.Split(rest, "/")
	switch endpoint := parts[len(parts)-1]; {
	case endpoint != "request" && endpoint != "sse", parts[0] == "":
	case len(parts) == 2:
		return target{project: parts[0]}, nil
	case len(parts) == 4 && parts[1] == "toolsets" && parts[2] != "":
		return target{project: parts[0], toolset: parts[2]}, nil
	}
	return target{}, refused
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
