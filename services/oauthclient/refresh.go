package oauthclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient/authserver"
	"mcpgateway/services/secrets"
)

// refresh refreshes the access token of a server once for all concurrent
// callers in this process, and once across processes: a process that gets the
// lock later finds the new token. refused is the token that the server
// rejected, or zero.
func (c *Connections) refresh(ctx context.Context, server models.Server, refused secrets.Value) (*decryptedConnection, error) {
	key := "renew " + server.ID
	if !refused.IsZero() {
		key = "force " + server.ID // a refresh in progress may consider the rejected token valid
	}
	return c.singleflight(ctx, key, func(ctx context.Context) (o *decryptedConnection, err error) {
		// The work continues after a loss of the lock: a refresh token that was
		// sent may be consumed, so the response must be stored.
		held, err := c.Locks.Hold(ctx, lockOf(server.ID), true, func(context.Context) (err error) {
			o, err = c.renew(ctx, server, refused)
			return err
		})
		switch {
		case held:
			return o, err
		case errors.Is(err, context.DeadlineExceeded):
			return nil, fail(Degraded, authserver.CodeTimeout, "Another process is refreshing the token. Retry shortly.").because(err).asFault(server.Alias)
		}
		return nil, fault.From(err)
	})
}

// renew refreshes the access token. The caller must hold the lock.
func (c *Connections) renew(ctx context.Context, server models.Server, refused secrets.Value) (*decryptedConnection, error) {
	o, err := c.read(ctx, server.ID)
	if err != nil {
		return nil, err
	}
	if hasOwnClient(&server) {
		if o, server, err = c.ownCurrent(ctx, o, server); err != nil {
			return nil, err
		}
	}
	if err := c.unusable(o, server); err != nil {
		return nil, err
	}
	now := c.Now()
	forced := !refused.IsZero() && o.access.Reveal() == refused.Reveal()
	switch {
	case o.isValid(now) && !forced && !o.needsRefresh(now):
		return o, nil // refreshed by another caller
	case !o.renewable():
		return nil, c.ended(ctx, o, server)
	case o.inBackoff(now):
		if o.isValid(now) && !forced {
			return o, nil
		}
		f := fail(Degraded, o.ErrorCode, o.ErrorText)
		f.retry = o.NextAttemptAt.Sub(now)
		return nil, f.asFault(server.Alias)
	}
	granted, err := c.requestRefresh(ctx, o, server)
	if err != nil {
		return c.recordRefreshFailure(ctx, o, server, forced, err)
	}
	return c.renewed(ctx, o, server, forced, granted)
}

// requestRefresh sends the refresh request (RFC 6749 section 6, RFC 8707 section 2.2). The
// error may be a failure.
func (c *Connections) requestRefresh(ctx context.Context, o *decryptedConnection, server models.Server) (authserver.Tokens, error) {
	if o.RegistrationKind == string(OwnClient) {
		return c.requestOwn(ctx, o, &server)
	}
	self, err := c.clientOf(ctx, server, Kind(o.RegistrationKind), o.RegistrationID, o.ClientID, o.AuthMethod)
	if err != nil {
		return authserver.Tokens{}, err
	}
	refreshToken, err := c.open(o.RefreshToken, RefreshTokenRow(o.ServerID))
	if err != nil {
		return authserver.Tokens{}, err
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refreshToken.Reveal()}}
	if o.Resource != "" {
		form.Set("resource", o.Resource)
	}
	return c.at(&server).Token(ctx, o.TokenEndpoint, self, form)
}

// renewed stores refreshed tokens. The old refresh token may already be
// invalid, so a failed write is retried. Only a newer authorization discards
// the tokens.
func (c *Connections) renewed(ctx context.Context, o *decryptedConnection, server models.Server, forced bool, granted authserver.Tokens) (*decryptedConnection, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	next, now := o.Connection, c.Now()
	if err := c.applyTokens(&next, granted); err != nil {
		return nil, err
	}
	next.RefreshedAt = &now
	w := change{}
	if next.ConnectedAt == nil { // with client credentials
		s, err := c.server(ctx, server.ID)
		if err != nil {
			return nil, err
		}
		next.ConnectedAt = &now
		w.entry = s.entry("connected", map[string]string{"issuer": next.Issuer, "registration": next.RegistrationKind, "scopes": joinScopes(next.Scopes)})
	}
	if next.Reason != ReasonInsufficientScope {
		next.State, next.Reason = string(Connected), ""
		next.ErrorCode, next.ErrorText, next.ErrorAt = "", "", nil
	}
	next.Failures, next.NextAttemptAt = 0, nil
	if forced {
		next.ForcedAt = &now
	}
	var outdated bool
	err := retryWrite(ctx, func() error {
		err := c.save(ctx, &next, w)
		if errors.Is(err, errOutdated) {
			outdated = true
			return nil
		}
		return err
	})
	switch {
	case outdated:
		return c.newer(ctx, server)
	case err != nil:
		c.Log.Error("refreshed tokens not stored", "server", o.ServerID, "error", err)
		return nil, err
	}
	return &decryptedConnection{Connection: next, access: granted.Access}, nil
}

// newer returns the connection after a concurrent change.
func (c *Connections) newer(ctx context.Context, server models.Server) (*decryptedConnection, error) {
	o, err := c.read(ctx, server.ID)
	if err != nil {
		return nil, err
	}
	if !o.isValid(c.Now()) {
		return nil, fail(Degraded, authserver.CodeServerError, "The connection changed during the refresh. Retry.").asFault(server.Alias)
	}
	return o, nil
}

// applyTokens stores tokens in a connection. Without a new refresh token, the old one
// stays in use (RFC 6749 section 6).
func (c *Connections) applyTokens(r *models.Connection, granted authserver.Tokens) error {
	var err error
	if r.AccessToken, err = c.seal(granted.Access, AccessTokenRow(r.ServerID)); err != nil {
		return err
	}
	if !granted.Refresh.IsZero() {
		if r.RefreshToken, err = c.seal(granted.Refresh, RefreshTokenRow(r.ServerID)); err != nil {
			return err
		}
	}
	if granted.Scopes != nil {
		r.Scopes = granted.Scopes
	}
	now := c.Now()
	r.IssuedAt, r.ExpiresAt, r.RefreshAt = &now, nil, nil
	if granted.Lifetime > 0 {
		expires := now.Add(granted.Lifetime)
		// The random share spreads refreshes of tokens that were issued together.
		share := RefreshShare - refreshSpread*rand.Float64()
		due := now.Add(time.Duration(float64(granted.Lifetime) * share)).Truncate(time.Millisecond)
		r.ExpiresAt, r.RefreshAt = &expires, &due
	}
	return nil
}

// recordRefreshFailure stores the failure of a refresh. After a concurrent change, it
// stores nothing and returns the new connection if its token is valid. The old
// token stays in use until it expires.
func (c *Connections) recordRefreshFailure(ctx context.Context, o *decryptedConnection, server models.Server, forced bool, err error) (*decryptedConnection, error) {
	f := failureOf(err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	next, now := o.Connection, c.Now()
	c.failed(&next, f)
	w := change{}
	if f.state.needsAuthorization() {
		next.State, next.Reason = string(f.state), ""
		if f.state == NeedsReauth {
			next.Reason = f.code
		}
		next.RefreshToken, next.RefreshAt = "", nil
		if forced {
			next.AccessToken, next.ExpiresAt = "", nil
		}
		s, err := c.server(ctx, server.ID)
		if err != nil {
			return nil, err
		}
		w.entry = s.entry("needs_reauth", map[string]string{"state": next.State, "reason": next.Reason, "code": f.code, "message": f.text})
		if f.state == RegistrationRejected && next.RegistrationID != "" {
			w.also = func(tx *gorm.DB) error { return c.dropRegistrationIn(tx, s, next.RegistrationID) }
		}
	} else {
		if next.Reason != ReasonInsufficientScope {
			next.State, next.Reason = string(f.state), "" // Degraded or BlockedByPolicy
		}
		wait := retryIn(next.Failures)
		if f.retry > 0 {
			wait = f.retry
		}
		attempt := now.Add(wait).Truncate(time.Millisecond)
		next.Failures, next.NextAttemptAt = next.Failures+1, &attempt
		f.retry = wait
	}
	c.Log.Warn("token refresh failed", "server", server.Alias, "state", f.state, "code", f.code, "error", f.cause)
	switch err := c.save(ctx, &next, w); {
	case errors.Is(err, errOutdated):
		return c.newer(ctx, server)
	case err != nil:
		return nil, err
	case o.isValid(now) && !forced:
		return &decryptedConnection{Connection: next, access: o.access}, nil
	}
	return nil, f.asFault(server.Alias)
}

// retryIn returns the backoff after a number of consecutive failures.
func retryIn(failures int64) time.Duration {
	wait := min(firstRetry<<min(failures, 20), lastRetry)
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
}
