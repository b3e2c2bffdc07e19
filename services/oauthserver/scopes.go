package oauthserver

import (
	"slices"
	"strings"

	"mcpgateway/services/access"
)

// scopeOffline asks for a refresh token, which every client gets; it is
// accepted and has no effect.
const scopeOffline = "offline_access"

// Scopes returns the scopes that a client may ask for, in the order in which
// they are told.
func Scopes() []string {
	return []string{string(access.ScopeRead), string(access.ScopeCall), scopeOffline}
}

// parseScopes returns the scopes that a client asks for as they are granted:
// known ones, in a fixed order, with spaces between. Without one of our own it
// gets both. It returns invalid_scope for a text that is no list of scopes and
// for one that asks for strangers' scopes only.
func parseScopes(raw string) (string, error) {
	asked := strings.Fields(raw)
	if len(raw) > MaxScope || strings.ContainsFunc(raw, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }) {
		return "", refuse(InvalidScope, "the scope is not a list of scopes")
	}
	var granted []string
	for _, scope := range Scopes() {
		if slices.Contains(asked, scope) {
			granted = append(granted, scope)
		}
	}
	stranger := slices.ContainsFunc(asked, func(scope string) bool { return !slices.Contains(Scopes(), scope) })
	switch ours := slices.ContainsFunc(granted, func(scope string) bool { return scope != scopeOffline }); {
	case ours:
	case stranger:
		return "", refuse(InvalidScope, "this server knows the scopes "+strings.Join(Scopes(), ", "))
	default:
		granted = append([]string{string(access.ScopeRead), string(access.ScopeCall)}, granted...)
	}
	return strings.Join(granted, " "), nil
}

// narrowScopes returns the scopes of a renewed access token: those of the
// grant, or the part that the client asks for. It returns invalid_scope for
// more (RFC 6749, section 6).
func narrowScopes(granted, raw string) (string, error) {
	if raw == "" {
		return granted, nil
	}
	asked, err := parseScopes(raw)
	if err != nil {
		return "", err
	}
	for scope := range strings.FieldsSeq(asked) {
		if !slices.Contains(strings.Fields(granted), scope) && scope != scopeOffline &&
			!(scope == string(access.ScopeRead) && slices.Contains(strings.Fields(granted), string(access.ScopeCall))) {
			return "", refuse(InvalidScope, "the scope "+scope+" was not granted")
		}
	}
	return asked, nil
}
