package oauthserver

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
)

// storedClient returns the stored client. ok is false if it is unknown.
func storedClient(tx *gorm.DB, id string) (client models.OAuthClient, ok bool, err error) {
	err = tx.First(&client, "id = ?", id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return client, false, nil
	}
	return client, err == nil, err
}

// isDocumentID reports whether a client's id is the URL of a metadata document
// rather than a registered one.
func isDocumentID(id string) bool { return strings.HasPrefix(id, "https://") }

// ClientID returns the unauthenticated client id of a token or revocation
// request, from the body or the Basic header. It is empty if there is none.
func ClientID(form url.Values, authorization string) string {
	if id, _, ok := basicCredentials(authorization); ok {
		return id
	}
	return form.Get("client_id")
}

// authenticateClient authenticates the client of a token or revocation request
// (RFC 6749, section 2.3). It returns invalid_client for an unknown client and
// for wrong credentials, and invalid_request for two authentication methods at
// once.
func (s *Server) authenticateClient(ctx context.Context, form url.Values, authorization string) (models.OAuthClient, error) {
	id, secret, method := form.Get("client_id"), form.Get("client_secret"), models.AuthMethodNone
	if secret != "" {
		method = models.AuthMethodPost
	}
	if authorization != "" {
		if secret != "" {
			return models.OAuthClient{}, refuse(InvalidRequest, "authenticate either in the header or in the body")
		}
		basicID, basicSecret, ok := basicCredentials(authorization)
		if !ok || id != "" && id != basicID {
			return models.OAuthClient{}, refuse(InvalidClient, "invalid Authorization header")
		}
		id, secret, method = basicID, basicSecret, models.AuthMethodBasic
	}
	if id == "" {
		return models.OAuthClient{}, refuse(InvalidClient, "client_id is missing")
	}
	client, ok, err := storedClient(s.db.WithContext(ctx), id)
	if err != nil {
		return client, fault.Internal(err)
	}
	if !ok {
		return client, refuse(InvalidClient, "unknown client, register again")
	}
	if client.AuthMethod == models.AuthMethodNone && secret == "" {
		return client, nil
	}
	given, ok := parseSecret(secretPrefix, secret)
	if client.AuthMethod != method || !ok || subtle.ConstantTimeCompare(given.plain[:], client.SecretHash) != 1 {
		return models.OAuthClient{}, refuse(InvalidClient, "the client must use its registered authentication method: "+string(client.AuthMethod))
	}
	return client, nil
}

// basicCredentials parses a Basic header with form-encoded parts (RFC 6749,
// section 2.3.1).
func basicCredentials(header string) (id, secret string, ok bool) {
	scheme, encoded, found := strings.Cut(header, " ")
	if !found || !strings.EqualFold(scheme, "basic") {
		return "", "", false
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return "", "", false
	}
	id, secret, found = strings.Cut(string(text), ":")
	if !found {
		return "", "", false
	}
	id, errID := url.QueryUnescape(id)
	secret, errSecret := url.QueryUnescape(secret)
	return id, secret, errID == nil && errSecret == nil && id != ""
}

// cleanName returns a client's name for display: truncated, and without control
// and invisible characters.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), r == utf8.RuneError:
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	name = strings.Join(strings.Fields(name), " ")
	if r := []rune(name); len(r) > MaxClientName {
		name = string(r[:MaxClientName-1]) + "…"
	}
	return name
}
