// Package outbound validates how the gateway authenticates to a server: OAuth
// client credentials, TLS and forwarded headers. It uses no database.
package outbound

import (
	"net/netip"
	"net/url"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/certificates"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
)

// MergeOAuth applies the declared fields of OAuth except secrets to the row, and
// removes stored ones that the new grant or method doesn't use and that aren't
// declared. It returns the names of the changed fields.
func MergeOAuth(row *models.Server, d *declaration.Server) []string {
	was := *row
	set(&row.OAuthGrant, d.OAuthGrant)
	set(&row.OAuthClientAuth, d.OAuthClientAuth)
	set(&row.OAuthKeyID, d.OAuthKeyID)
	set(&row.OAuthTokenURL, d.OAuthTokenURL)
	set(&row.OAuthAudience, d.OAuthAudience)
	if row.AuthType != models.UpstreamAuthOAuth && d.OAuthGrant == nil {
		row.OAuthGrant = models.GrantCode
	}
	declares := func(secret *string) bool { return secret != nil && *secret != "" }
	if row.OAuthGrant == models.GrantCode {
		clearUnless(d.OAuthClientAuth != nil, &row.OAuthClientAuth)
		clearUnless(declares(d.OAuthTokenURL), &row.OAuthTokenURL)
	} else if row.OAuthClientAuth == "" {
		row.OAuthClientAuth = models.ClientSecretBasic
		if declares(d.OAuthPrivateKey) {
			row.OAuthClientAuth = models.PrivateKeyJWT
		}
	}
	switch {
	case row.OAuthClientAuth != models.PrivateKeyJWT:
		clearUnless(declares(d.OAuthPrivateKey), &row.OAuthPrivateKey)
		clearUnless(declares(d.OAuthKeyID), &row.OAuthKeyID)
		clearUnless(declares(d.OAuthAudience), &row.OAuthAudience)
	case row.OAuthGrant == models.GrantClientCredentials:
		clearUnless(declares(d.OAuthClientSecret), &row.OAuthClientSecret)
	}
	var changed []string
	for _, f := range []struct {
		name      string
		different bool
	}{
		{"oauth.grant", was.OAuthGrant != row.OAuthGrant}, {"oauth.authMethod", was.OAuthClientAuth != row.OAuthClientAuth},
		{"oauth.clientSecret", was.OAuthClientSecret != row.OAuthClientSecret}, {"oauth.privateKey", was.OAuthPrivateKey != row.OAuthPrivateKey},
		{"oauth.keyId", was.OAuthKeyID != row.OAuthKeyID}, {"oauth.tokenUrl", was.OAuthTokenURL != row.OAuthTokenURL}, {"oauth.audience", was.OAuthAudience != row.OAuthAudience},
	} {
		if f.different {
			changed = append(changed, f.name)
		}
	}
	return changed
}

func set[T any](dst, src *T) {
	if src != nil {
		*dst = *src
	}
}

func clearUnless[T ~string](kept bool, dst *T) {
	if !kept {
		*dst = ""
	}
}

// CheckOAuth returns the problems of a server's OAuth fields by name. checkURL
// returns an error for a URL that can't be called.
func CheckOAuth(row *models.Server, checkURL func(string) error) map[string]string {
	problems := map[string]string{}
	refuse := func(given bool, field, why string) {
		if given {
			problems[field] = why
		}
	}
	if row.OAuthGrant != models.GrantClientCredentials {
		const why = "only with grant client_credentials"
		refuse(row.OAuthClientAuth != "", "oauth.authMethod", why)
		refuse(row.OAuthPrivateKey != "", "oauth.privateKey", why)
		refuse(row.OAuthKeyID != "", "oauth.keyId", why)
		refuse(row.OAuthTokenURL != "", "oauth.tokenUrl", why)
		refuse(row.OAuthAudience != "", "oauth.audience", why)
		return problems
	}
	refuse(row.AuthType != models.UpstreamAuthOAuth, "oauth.grant", "client_credentials requires authType oauth")
	refuse(row.IsPersonal(), "oauth.grant", "client_credentials requires connection shared")
	refuse(row.OAuthClientID == "", "oauth.clientId", "required with grant client_credentials")
	if row.OAuthClientAuth == models.PrivateKeyJWT {
		refuse(row.OAuthClientSecret != "", "oauth.clientSecret", "private_key_jwt uses privateKey: remove clientSecret")
	} else {
		const why = "only with authMethod private_key_jwt"
		refuse(row.OAuthPrivateKey != "", "oauth.privateKey", why)
		refuse(row.OAuthKeyID != "", "oauth.keyId", why)
		refuse(row.OAuthAudience != "", "oauth.audience", why)
	}
	if why := tokenURLProblem(row.OAuthTokenURL, checkURL); why != "" {
		problems["oauth.tokenUrl"] = why
	}
	return problems
}

// tokenURLProblem returns the problem of a token endpoint, or "". It must use
// https, or http to a loopback address (OAuth 2.1, section 1.5).
func tokenURLProblem(address string, checkURL func(string) error) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || strings.Contains(address, "${") {
		return "enter a URL without a user name, a fragment and references"
	}
	if u.Scheme != "https" && !(u.Scheme == "http" && isLoopback(u.Hostname())) {
		return "use https"
	}
	if err := checkURL(address); err != nil {
		return fault.From(err).Message
	}
	return ""
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.Unmap().IsLoopback()
}

// SigningKeyProblem returns the problem of the PEM text of a private key for
// private_key_jwt, or "".
func SigningKeyProblem(text string) string {
	if _, _, err := certificates.SigningKey(text); err != nil {
		return "the private key " + err.Error()
	}
	return ""
}
