package oauthclient

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"mcpgateway/models"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/oauthclient/authserver"
	"mcpgateway/services/upstream"
)

// Refused handles credentials that the server rejected, and returns those to
// retry with. None means that the rejection is final. If another call has
// refreshed the token, or the user has replaced it, the new one is returned
// immediately. Otherwise a connection of OAuth is refreshed early, at most once
// a minute. A user whose credentials are rejected after that, or who entered
// them, must connect again.
//
// It returns the faults of Credentials. It returns UPSTREAM_UNAUTHORIZED if an
// administrator is required: the server trusts another authorization server
// (the old tokens are never sent again), or requires scopes that weren't
// granted.
func (c *Connections) Refused(ctx context.Context, server models.Server, userID string, sent upstream.Credentials, refusal *upstream.Challenge) (upstream.Credentials, error) {
	a := account{server, userID}
	o, err := c.singleflight(ctx, "refused "+a.id().String()+" "+sent.Fingerprint(), func(ctx context.Context) (*accounts.Connection, error) {
		return c.refused(ctx, a, sent, refusal)
	})
	if err != nil || o == nil {
		return upstream.Credentials{}, err
	}
	return o.Credentials(&a.Server), nil
}

// refused implements Refused, once for all concurrent callers with the same
// credentials. It returns nil if the rejection is final.
func (c *Connections) refused(ctx context.Context, a account, sent upstream.Credentials, refusal *upstream.Challenge) (*accounts.Connection, error) {
	o, err := c.read(ctx, a.id())
	if err != nil {
		return nil, err
	}
	o = ownOf(o, &a.Server)
	if err := c.unusable(o, &a); err != nil {
		return nil, err
	}
	now := c.Now()
	isNew := !o.Credentials(&a.Server).Equal(sent)
	if isNew && (o.Kind == models.KindToken || o.IsValid(now)) {
		return o, nil
	}
	said, challenged := authserver.ParseChallenge(refusal.WWWAuthenticate)
	switch {
	case refusal.Status == http.StatusForbidden:
		if o.Kind == models.KindToken || said.Code != "insufficient_scope" || len(said.Scopes) == 0 {
			return nil, nil
		}
		return nil, c.missesScopes(ctx, o, a, said.Scopes)
	case o.IsRefused():
		return nil, pendingFault(o, &a)
	case o.Kind == models.KindToken:
		return nil, c.rejected(ctx, o, a)
	}
	if challenged && o.Issuer != "" {
		if err := c.checkIssuer(ctx, o, a, said); err != nil {
			return nil, err
		}
	}
	forced := o.ForcedAt != nil && now.Sub(*o.ForcedAt) < forcedSpacing
	switch {
	case a.userID != "" && o.IsValid(now) && (forced || !o.IsRenewable()):
		return nil, c.rejected(ctx, o, a)
	case !o.IsRenewable():
		return nil, c.ended(ctx, o, a)
	case forced && a.userID == "":
		return nil, a.fault(fail(Degraded, codeTokenRejected, "The server rejected a token that was just issued."))
	}
	return c.refresh(ctx, a, sent.Bearer)
}

// rejected stores that the server rejected a user's credentials, and returns the
// fault. They are kept for try.
func (c *Connections) rejected(ctx context.Context, o *accounts.Connection, a account) error {
	f := fail(NeedsReauth, accounts.ReasonTokenRefused, "The server refused your token."+a.reconnect())
	next, again := o.PersonalConnection, c.Now().Add(refusedPause)
	next.State, next.Reason, next.NextAttemptAt, next.RefreshAt = string(NeedsReauth), accounts.ReasonTokenRefused, &again, nil
	c.failed(&next, f)
	return c.requireAuthorization(ctx, &next, a, f)
}

// try returns rejected credentials for one request of all processes, after a
// pause. Accepted reports its success.
func (c *Connections) try(ctx context.Context, a account, o *accounts.Connection) (*accounts.Connection, error) {
	now := c.Now()
	if o.NextAttemptAt != nil && now.Before(*o.NextAttemptAt) {
		return nil, pendingFault(o, &a)
	}
	next, again := o.PersonalConnection, now.Add(refusedPause)
	next.NextAttemptAt = &again
	switch err := c.save(ctx, &next, change{}); {
	case errors.Is(err, accounts.ErrOutdated):
		return nil, pendingFault(o, &a) // another request tries
	case err != nil:
		return nil, err
	}
	return c.decrypted(next)
}

// Accepted ends the pause after rejected credentials, because the server
// accepted them. For others it does nothing. A failure is logged.
func (c *Connections) Accepted(ctx context.Context, server models.Server, userID string, sent upstream.Credentials) {
	a := account{server, userID}
	o, err := c.current(ctx, a.id())
	if err != nil || !o.IsRefused() || !o.Credentials(&a.Server).Equal(sent) {
		return
	}
	next := o.PersonalConnection
	next.State, next.Reason, next.NextAttemptAt = string(Connected), "", nil
	next.ErrorCode, next.ErrorText, next.ErrorAt = "", "", nil
	if next.ExpiresAt != nil && next.RefreshToken != "" {
		next.RefreshAt = next.ExpiresAt
	}
	if err := c.save(ctx, &next, change{}); err != nil && !errors.Is(err, accounts.ErrOutdated) {
		c.Log.Warn("accepted credentials not stored", "server", a.Alias, "error", err)
	}
}

// missesScopes stores that the server requires scopes that weren't granted, so
// that the next authorization requests them. The token stays in use for other
// requests. A shared connection then needs an administrator.
func (c *Connections) missesScopes(ctx context.Context, o *accounts.Connection, a account, scopes []string) error {
	f := fail(NeedsReauth, ReasonInsufficientScope, "The server requires scopes that weren't granted ("+joinScopes(scopes)+")."+a.reconnect())
	needed := authserver.ValidScopes(slices.Concat(o.ScopesNeeded, scopes))
	if len(needed) == len(o.ScopesNeeded) && (a.userID != "" || o.Reason == ReasonInsufficientScope) {
		return f.asFault(a.Alias) // already stored
	}
	next := o.PersonalConnection
	next.ScopesNeeded = needed
	if a.userID != "" {
		if err := c.save(ctx, &next, change{}); err != nil && !errors.Is(err, accounts.ErrOutdated) {
			return err
		}
		return f.asFault(a.Alias)
	}
	next.State, next.Reason = string(NeedsReauth), ReasonInsufficientScope
	c.failed(&next, f)
	return c.requireAuthorization(ctx, &next, a, f)
}

// checkIssuer reads the issuers that the server trusts. If the connection's
// isn't one of them, its tokens are deleted and never sent again (MCP
// 2026-07-28, SEP-2352). Without published issuers, nothing changes.
func (c *Connections) checkIssuer(ctx context.Context, o *accounts.Connection, a account, said authserver.Challenge) error {
	found, cancel := context.WithTimeout(ctx, c.RequestTimeout)
	defer cancel()
	address, err := c.address(a.Server)
	if err != nil {
		return err
	}
	issuers, err := c.at(&a.Server).TrustedIssuers(found, address, said)
	if err != nil || len(issuers) == 0 || slices.Contains(issuers, o.Issuer) {
		return nil
	}
	f := fail(IssuerChanged, codeIssuerChanged, "The server trusts "+issuers[0]+" and no longer "+o.Issuer+"."+a.reconnect())
	next := o.PersonalConnection
	next.State, next.Reason = string(IssuerChanged), ""
	next.AccessToken, next.RefreshToken, next.ExpiresAt, next.RefreshAt = "", "", nil, nil
	c.failed(&next, f)
	return c.requireAuthorization(ctx, &next, a, f)
}
