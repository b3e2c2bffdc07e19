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
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/oauthclient/authserver"
	"mcpgateway/services/secrets"
)

// refresh refreshes the access token of an account once for all concurrent
// callers in this process, and once across processes: a process that gets the
// lock later finds the new token. refused is the token that the server
// rejected, or zero.
func (c *Connections) refresh(ctx context.Context, a account, refused secrets.Value) (*accounts.Connection, error) {
	key := "renew " + a.id().String()
	if !refused.IsZero() {
		key = "force " + a.id().String() // a refresh in progress may consider the rejected token valid
	}
	return c.singleflight(ctx, key, func(ctx context.Context) (o *accounts.Connection, err error) {
		// The work continues after a loss of the lock: a refresh token that was
		// sent may be consumed, so the response must be stored.
		held, err := c.Locks.Hold(ctx, a.id().Lock(), true, func(context.Context) (err error) {
			o, err = c.renew(ctx, a, refused)
			return err
		})
		switch {
		case held:
			return o, err
		case errors.Is(err, context.DeadlineExceeded):
			return nil, a.fault(fail(Degraded, authserver.CodeTimeout, "Another process is refreshing the token. Retry shortly.").because(err))
		}
		return nil, fault.From(err)
	})
}

// renew refreshes the access token. The caller must hold the lock.
func (c *Connections) renew(ctx context.Context, a account, refused secrets.Value) (*accounts.Connection, error) {
	o, err := c.read(ctx, a.id())
	if err != nil {
		return nil, err
	}
	if hasOwnClient(&a.Server) {
		if o, a, err = c.ownCurrent(ctx, o, a); err != nil {
			return nil, err
		}
	}
	if err := c.unusable(o, &a); err != nil {
		return nil, err
	}
	now := c.Now()
	forced := !refused.IsZero() && o.Access.Reveal() == refused.Reveal()
	switch {
	case o.IsValid(now) && !forced && !o.NeedsRefresh(now):
		return o, nil // refreshed by another caller
	case !o.IsRenewable():
		return nil, c.ended(ctx, o, a)
	case o.InBackoff(now):
		if o.IsValid(now) && !forced {
			return o, nil
		}
		f := fail(Degraded, o.ErrorCode, o.ErrorText)
		f.retry = o.NextAttemptAt.Sub(now)
		return nil, a.fault(f)
	}
	granted, err := c.requestRefresh(ctx, o, a)
	if err != nil {
		return c.recordRefreshFailure(ctx, o, a, forced, err)
	}
	return c.renewed(ctx, o, a, forced || o.IsRefused(), granted)
}

// requestRefresh sends the refresh request (RFC 6749 section 6, RFC 8707 section 2.2). The
// error may be a failure.
func (c *Connections) requestRefresh(ctx context.Context, o *accounts.Connection, a account) (authserver.Tokens, error) {
	if o.RegistrationKind == string(OwnClient) {
		return c.requestOwn(ctx, o, &a.Server)
	}
	self, err := c.clientOf(ctx, a.Server, Kind(o.RegistrationKind), o.RegistrationID, o.ClientID, o.AuthMethod)
	if err != nil {
		return authserver.Tokens{}, err
	}
	refreshToken, err := c.open(o.RefreshToken, o.ID().RefreshTokenRow())
	if err != nil {
		return authserver.Tokens{}, err
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refreshToken.Reveal()}}
	if o.Resource != "" {
		form.Set("resource", o.Resource)
	}
	return c.at(&a.Server).Token(ctx, o.TokenEndpoint, self, form)
}

// renewed stores refreshed tokens. The old refresh token may already be
// invalid, so a failed write is retried, also after a concurrent change. Only a
// newer authorization discards the tokens.
func (c *Connections) renewed(ctx context.Context, o *accounts.Connection, a account, forced bool, granted authserver.Tokens) (*accounts.Connection, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	next, newer, w := o.PersonalConnection, false, change{}
	own := o.RegistrationKind == string(OwnClient)
	if next.ConnectedAt == nil && own {
		s, err := c.subject(ctx, a.id())
		if err != nil {
			return nil, err
		}
		next.ConnectedAt = new(c.Now())
		w.entry = s.entry("connected", map[string]string{"issuer": next.Issuer, "registration": next.RegistrationKind, "scopes": joinScopes(next.Scopes)})
	}
	err := retryWrite(ctx, func() error {
		if err := c.applyRefresh(&next, forced, granted); err != nil {
			return err
		}
		err := c.save(ctx, &next, w)
		if !errors.Is(err, accounts.ErrOutdated) {
			return err
		}
		present, _, loadErr := c.load(ctx, a.id())
		if loadErr != nil {
			return loadErr
		}
		if newer = own || present.RefreshToken != o.RefreshToken; newer {
			return nil
		}
		next = present
		return err
	})
	switch {
	case newer:
		return c.newer(ctx, a)
	case err != nil:
		c.Log.Error("refreshed tokens not stored", "server", o.ServerID, "error", err)
		return nil, fault.From(err)
	}
	return c.decrypted(next)
}

// applyRefresh stores refreshed tokens in a connection.
func (c *Connections) applyRefresh(r *models.PersonalConnection, forced bool, granted authserver.Tokens) error {
	if err := c.applyTokens(r, granted); err != nil {
		return err
	}
	now := c.Now()
	r.RefreshedAt = &now
	if r.Reason != ReasonInsufficientScope {
		r.State, r.Reason = string(Connected), ""
		r.ErrorCode, r.ErrorText, r.ErrorAt = "", "", nil
	}
	r.Failures, r.NextAttemptAt = 0, nil
	if forced {
		r.ForcedAt = &now
	}
	return nil
}

// newer returns the connection after a concurrent change.
func (c *Connections) newer(ctx context.Context, a account) (*accounts.Connection, error) {
	o, err := c.read(ctx, a.id())
	if err != nil {
		return nil, err
	}
	if !o.IsValid(c.Now()) {
		return nil, a.fault(fail(Degraded, authserver.CodeServerError, "The connection changed during the refresh. Retry."))
	}
	return o, nil
}

// applyTokens stores tokens in a connection. Without a new refresh token, the old one
// stays in use (RFC 6749 section 6).
func (c *Connections) applyTokens(r *models.PersonalConnection, granted authserver.Tokens) error {
	var err error
	if r.AccessToken, err = c.seal(granted.Access, accounts.IDOf(r).AccessTokenRow()); err != nil {
		return err
	}
	if !granted.Refresh.IsZero() {
		if r.RefreshToken, err = c.seal(granted.Refresh, accounts.IDOf(r).RefreshTokenRow()); err != nil {
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
func (c *Connections) recordRefreshFailure(ctx context.Context, o *accounts.Connection, a account, forced bool, err error) (*accounts.Connection, error) {
	f := failureOf(err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	next, now := o.PersonalConnection, c.Now()
	c.failed(&next, f)
	w := change{}
	if f.state.NeedsAuthorization() {
		next.State, next.Reason = string(f.state), ""
		if f.state == NeedsReauth {
			next.Reason = f.code
		}
		next.RefreshToken, next.RefreshAt = "", nil
		if forced {
			next.AccessToken, next.ExpiresAt = "", nil
		}
		s, err := c.subject(ctx, a.id())
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
	c.Log.Warn("token refresh failed", "server", a.Alias, "state", f.state, "code", f.code, "error", f.cause)
	switch err := c.save(ctx, &next, w); {
	case errors.Is(err, accounts.ErrOutdated):
		return c.newer(ctx, a)
	case err != nil:
		return nil, err
	case o.IsValid(now) && !forced:
		return c.decrypted(next)
	}
	return nil, a.fault(f)
}

// retryIn returns the backoff after a number of consecutive failures.
func retryIn(failures int64) time.Duration {
	wait := min(firstRetry<<min(failures, 20), lastRetry)
	return time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64()))
}
