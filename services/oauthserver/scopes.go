package oauthserver

import (
	"slices"
	"strings"

	"mcpgateway/services/access"
)

// scopeOffline requests a refresh token, which every client gets. It is accepted
// and has no effect.
const scopeOffline = "offline_access"

// Scopes returns the supported scopes in the order of display.
func Scopes() []string {
	return []string{string(access.ScopeRead), string(access.ScopeCall), scopeOffline}
}

// parseScopes returns the granted scopes for the requested ones: supported
// scopes in a fixed order, separated by spaces. If only offline_access or
// nothing is requested, all are granted. It returns invalid_scope for a
// malformed list and if no requested scope is supported.
func parseScopes(raw string) (string, error) {
	requested := strings.Fields(raw)
	if len(raw) > MaxScope || strings.ContainsFunc(raw, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }) {
		return "", refuse(InvalidScope, "malformed scope")
	}
	var granted []string
	for _, scope := range Scopes() {
		if slices.Contains(requested, scope) {
			granted = append(granted, scope)
		}
	}
	unsupported := slices.ContainsFunc(requested, func(scope string) bool { return !slices.Contains(Scopes(), scope) })
	switch ours := slices.ContainsFunc(granted, func(scope string) bool { return scope != scopeOffline }); {
	case ours:
	case unsupported:
		return "", refuse(InvalidScope, "supported scopes: "+strings.Join(Scopes(), ", "))
	default:
		granted = append([]string{string(access.ScopeRead), string(access.ScopeCall)}, granted...)
	}
	return strings.Join(granted, " "), nil
}

// narrowScopes returns the scopes of a refreshed access token: those of the
// grant, or a requested subset. It returns invalid_scope for more (RFC 6749,
// section 6).
func narrowScopes(granted, raw string) (string, error) {
	if raw == "" {
		return granted, nil
	}
	requested, err := parseScopes(raw)
	if err != nil {
		return "", err
	}
	for scope := range strings.FieldsSeq(requested) {
		if !slices.Contains(strings.Fields(granted), scope) && scope != scopeOffline &&
			!(scope == string(access.ScopeRead) && slices.Contains(strings.Fields(granted), string(access.ScopeCall))) {
			return "", refuse(InvalidScope, "the scope "+scope+" was not granted")
		}
	}
	return requested, nil
}
