package accounts

import (
	"maps"
	"slices"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

// ReasonTokenRefused is the reason for which a user must connect their account
// again because the server rejected its credentials.
const ReasonTokenRefused = "token_refused"

// OwnClient is the kind of registration of servers with client credentials.
const OwnClient = "client_credentials"

// Connection is a stored connection with its decrypted credentials. It isn't
// modified.
type Connection struct {
	models.PersonalConnection
	Access  secrets.Value
	Headers map[string]secrets.Value // the values that a user entered
	Used    LastUse
}

// ID returns the ID of the account.
func (o *Connection) ID() ID { return IDOf(&o.PersonalConnection) }

// IsValid reports whether the access token is valid at the time.
func (o *Connection) IsValid(now time.Time) bool {
	return !o.Access.IsZero() && (o.ExpiresAt == nil || now.Before(*o.ExpiresAt))
}

// IsRenewable reports whether another access token can be requested: there is a
// refresh token, or the gateway has client credentials.
func (o *Connection) IsRenewable() bool {
	return o.RefreshToken != "" || o.RegistrationKind == OwnClient
}

// NeedsRefresh reports whether the access token should be refreshed at the time.
func (o *Connection) NeedsRefresh(now time.Time) bool {
	return o.RefreshAt != nil && !now.Before(*o.RefreshAt)
}

// IsRefused reports whether the server rejected a user's credentials. They are
// tried again, once at a time, from NextAttemptAt on.
func (o *Connection) IsRefused() bool { return o.Reason == ReasonTokenRefused }

// InBackoff reports whether the backoff after a failed refresh is still in effect.
func (o *Connection) InBackoff(now time.Time) bool {
	return o.NextAttemptAt != nil && now.Before(*o.NextAttemptAt) && !o.IsRefused()
}

// Credentials returns what requests to the server are sent with.
func (o *Connection) Credentials(server *models.Server) upstream.Credentials {
	given := upstream.Credentials{Bearer: o.Access}
	if server.AuthType == models.UpstreamAuthNone {
		given.Bearer = secrets.Value{}
	}
	if o.UserID == "" || len(server.PersonalHeaders) == 0 {
		return given
	}
	if given.Headers = o.Headers; len(o.Headers) > len(server.PersonalHeaders) { // fewer were configured since
		given.Headers = maps.Clone(o.Headers)
		maps.DeleteFunc(given.Headers, func(name string, _ secrets.Value) bool { return !slices.Contains(server.PersonalHeaders, name) })
	}
	return given
}

// IsComplete reports whether a user's account has what requests to the server
// need, regardless of its validity.
func IsComplete(row *models.PersonalConnection, server *models.Server) bool {
	for _, name := range server.PersonalHeaders {
		if row.Headers[name] == "" {
			return false
		}
	}
	switch server.AuthType {
	case models.UpstreamAuthOAuth:
		return row.Kind == models.KindOAuth && (row.AccessToken != "" || row.RefreshToken != "")
	case models.UpstreamAuthBearer:
		return row.Kind == models.KindToken && row.AccessToken != ""
	default:
		return row.Kind == models.KindToken && len(server.PersonalHeaders) > 0
	}
}
