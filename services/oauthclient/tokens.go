package oauthclient

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient/authserver"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

// reconnect ends the texts of failures that require a new authorization.
const reconnect = " An administrator must reconnect it."

// Token returns the access token for a request to the server. It refreshes an
// expired token; one that expires soon is refreshed in the background. It
// returns UPSTREAM_UNAUTHORIZED if an administrator must connect the server,
// and UPSTREAM_UNAVAILABLE or UPSTREAM_TIMEOUT with RetryAfter while the
// authorization server fails.
func (c *Connections) Token(ctx context.Context, server models.Server) (secrets.Value, error) {
	o, err := c.current(ctx, server.ID)
	if err != nil {
		return secrets.Value{}, err
	}
	o = o.of(&server)
	if err := c.unusable(o, server); err != nil {
		return secrets.Value{}, err
	}
	now := c.Now()
	if o.isValid(now) {
		if o.needsRefresh(now) && o.renewable() && !o.inBackoff(now) {
			// Another process may have refreshed it: the next call reads it.
			c.cache.forget(server.ID)
			c.wakeRefresher()
		}
		return o.access, nil
	}
	if !o.renewable() {
		return secrets.Value{}, c.ended(ctx, o, server)
	}
	if o, err = c.refresh(ctx, server, secrets.Value{}); err != nil {
		return secrets.Value{}, err
	}
	return o.access, nil
}

// Refused handles a token that the server rejected, and returns the token to
// retry with. The zero Value means that the rejection is final. If another call
// has refreshed the token, that one is returned immediately. Otherwise the
// connection is refreshed early, at most once a minute.
//
// It returns the faults of Token. It returns UPSTREAM_UNAUTHORIZED if an
// administrator is required: the server trusts another authorization server
// (the old tokens are never sent again), or requires scopes that weren't
// granted.
func (c *Connections) Refused(ctx context.Context, server models.Server, token secrets.Value, refusal *upstream.Challenge) (secrets.Value, error) {
	hash := sha256.Sum256([]byte(token.Reveal()))
	out, err := c.singleflight(ctx, "refused "+server.ID+" "+string(hash[:]), func(ctx context.Context) (*decryptedConnection, error) {
		return c.refused(ctx, server, token, refusal)
	})
	if err != nil || out == nil {
		return secrets.Value{}, err
	}
	return out.access, nil
}

// refused implements Refused, once for all concurrent callers with the same
// token. It returns nil if the rejection is final.
func (c *Connections) refused(ctx context.Context, server models.Server, token secrets.Value, refusal *upstream.Challenge) (*decryptedConnection, error) {
	o, err := c.read(ctx, server.ID)
	if err != nil {
		return nil, err
	}
	o = o.of(&server)
	if err := c.unusable(o, server); err != nil {
		return nil, err
	}
	if o.isValid(c.Now()) && o.access.Reveal() != token.Reveal() {
		return o, nil
	}
	said, challenged := authserver.ParseChallenge(refusal.WWWAuthenticate)
	if refusal.Status == http.StatusForbidden {
		if said.Code != "insufficient_scope" || len(said.Scopes) == 0 {
			return nil, nil
		}
		return nil, c.missesScopes(ctx, o, server, said.Scopes)
	}
	if challenged && o.Issuer != "" {
		if err := c.checkIssuer(ctx, o, server, said); err != nil {
			return nil, err
		}
	}
	if !o.renewable() {
		return nil, c.ended(ctx, o, server)
	}
	if o.ForcedAt != nil && c.Now().Sub(*o.ForcedAt) < forcedSpacing {
		return nil, fail(Degraded, codeTokenRejected, "The server rejected a token that was just issued.").asFault(server.Alias)
	}
	return c.refresh(ctx, server, token)
}

// Secrets returns the refresh token of the server's connection and the secret
// of its client, if they exist and can be decrypted.
func (c *Connections) Secrets(ctx context.Context, server models.Server) []secrets.Value {
	o, err := c.current(ctx, server.ID)
	if err != nil {
		return nil
	}
	var found []secrets.Value
	if v, err := c.open(o.RefreshToken, RefreshTokenRow(o.ServerID)); err == nil {
		found = append(found, v)
	}
	o = o.of(&server)
	if self, err := c.clientOf(ctx, server, Kind(o.RegistrationKind), o.RegistrationID, o.ClientID, o.AuthMethod); err == nil {
		found = append(found, self.Secret)
	}
	return found
}

// current returns a cached connection, or reads it.
func (c *Connections) current(ctx context.Context, serverID string) (*decryptedConnection, error) {
	if o, _ := c.cache.get(serverID); o != nil {
		return o, nil
	}
	return c.read(ctx, serverID)
}

// read reads a connection and caches it.
func (c *Connections) read(ctx context.Context, serverID string) (*decryptedConnection, error) {
	_, asOf := c.cache.get(serverID)
	r, _, err := row(c.DB.WithContext(ctx), serverID)
	if err != nil {
		return nil, err
	}
	o := &decryptedConnection{Connection: r}
	if o.access, err = c.open(r.AccessToken, AccessTokenRow(serverID)); err != nil {
		return nil, err
	}
	c.cache.put(o, asOf)
	return o, nil
}

// unusable returns the fault for a connection that must not be used for the
// server, regardless of its tokens, or nil.
func (c *Connections) unusable(o *decryptedConnection, server models.Server) error {
	switch {
	case o.State == string(IssuerChanged):
		return fail(IssuerChanged, codeIssuerChanged, "The server trusts another authorization server."+reconnect).asFault(server.Alias)
	case hasOwnClient(&server):
		return c.unusableOwn(o, server)
	case o.RegistrationKind == string(OwnClient):
		return fail(NeedsReauth, ReasonClientChanged, "It no longer uses client credentials. An administrator must connect it.").asFault(server.Alias)
	case o.AccessToken == "" && o.RefreshToken == "":
		return pendingFault(o, server)
	case o.ServerURL != server.URL:
		return fail(NeedsReauth, ReasonURLChanged, "Its tokens are for another URL."+reconnect).asFault(server.Alias)
	case o.RegistrationKind == string(Static) && o.ClientID != server.OAuthClientID:
		return fail(NeedsReauth, ReasonClientChanged, "Its static client was changed."+reconnect).asFault(server.Alias)
	}
	return nil
}

// pendingFault returns the fault for a connection with a pending authorization.
func pendingFault(o *decryptedConnection, server models.Server) *fault.Fault {
	text := o.ErrorText
	if !strings.HasSuffix(text, reconnect) {
		text = strings.TrimSpace("An administrator must connect it. " + text)
	}
	return fail(State(o.State), o.ErrorCode, text).asFault(server.Alias)
}

// ended stores that the access token expired without a refresh token, and
// returns the fault.
func (c *Connections) ended(ctx context.Context, o *decryptedConnection, server models.Server) error {
	if State(o.State).needsAuthorization() && o.AccessToken == "" {
		return pendingFault(o, server)
	}
	f := fail(NeedsReauth, ReasonNoRefreshToken, "The access token expired, and there is no refresh token."+reconnect)
	next := o.Connection
	next.AccessToken, next.ExpiresAt, next.RefreshAt = "", nil, nil
	if State(next.State).needsAuthorization() && next.Reason != ReasonInsufficientScope {
		f = fail(State(next.State), next.ErrorCode, next.ErrorText)
	} else {
		next.State, next.Reason = string(NeedsReauth), ReasonNoRefreshToken
		c.failed(&next, f)
	}
	if err := c.requireAuthorization(ctx, &next, server, f); err != nil {
		return err
	}
	return f.asFault(server.Alias)
}

// requireAuthorization saves a connection that requires an administrator and records
// connection.needs_reauth. After a concurrent change, it writes nothing.
func (c *Connections) requireAuthorization(ctx context.Context, next *models.Connection, server models.Server, f *failure) error {
	s, err := c.server(ctx, server.ID)
	if err != nil {
		return err
	}
	err = c.save(ctx, next, change{entry: s.entry("needs_reauth", map[string]string{"state": next.State, "reason": next.Reason, "code": f.code, "message": f.text})})
	if errors.Is(err, errOutdated) {
		return nil
	}
	return err
}

// missesScopes stores that the server requires scopes that weren't granted. The
// token stays in use for other requests.
func (c *Connections) missesScopes(ctx context.Context, o *decryptedConnection, server models.Server, scopes []string) error {
	f := fail(NeedsReauth, ReasonInsufficientScope, "The server requires scopes that weren't granted ("+joinScopes(scopes)+")."+reconnect)
	needed := authserver.ValidScopes(slices.Concat(o.ScopesNeeded, scopes))
	if o.Reason == ReasonInsufficientScope && len(needed) == len(o.ScopesNeeded) {
		return f.asFault(server.Alias) // already stored
	}
	next := o.Connection
	next.State, next.Reason, next.ScopesNeeded = string(NeedsReauth), ReasonInsufficientScope, needed
	c.failed(&next, f)
	if err := c.requireAuthorization(ctx, &next, server, f); err != nil {
		return err
	}
	return f.asFault(server.Alias)
}

// checkIssuer reads the issuers that the server trusts. If the connection's
// isn't one of them, its tokens are deleted and never sent again (MCP
// 2026-07-28, SEP-2352). Without published issuers, nothing changes.
func (c *Connections) checkIssuer(ctx context.Context, o *decryptedConnection, server models.Server, said authserver.Challenge) error {
	found, cancel := context.WithTimeout(ctx, c.RequestTimeout)
	defer cancel()
	address, err := c.address(server)
	if err != nil {
		return err
	}
	issuers, err := c.at(&server).TrustedIssuers(found, address, said)
	if err != nil || len(issuers) == 0 || slices.Contains(issuers, o.Issuer) {
		return nil
	}
	f := fail(IssuerChanged, codeIssuerChanged, "The server trusts "+issuers[0]+" and no longer "+o.Issuer+"."+reconnect)
	next := o.Connection
	next.State, next.Reason = string(IssuerChanged), ""
	next.AccessToken, next.RefreshToken, next.ExpiresAt, next.RefreshAt = "", "", nil, nil
	c.failed(&next, f)
	if err := c.requireAuthorization(ctx, &next, server, f); err != nil {
		return err
	}
	return f.asFault(server.Alias)
}

// singleflight runs work once for concurrent callers with the same key. It continues
// after the first caller is cancelled; each caller waits until its own context
// is done.
func (c *Connections) singleflight(ctx context.Context, key string, work func(context.Context) (*decryptedConnection, error)) (*decryptedConnection, error) {
	life := context.WithoutCancel(ctx)
	done := c.flights.DoChan(key, func() (any, error) {
		if !c.begin() {
			return (*decryptedConnection)(nil), fault.Upstream(fault.CodeUpstreamUnavailable, "The gateway is shutting down. Retry shortly.")
		}
		defer c.work.Done()
		ctx, cancel := context.WithTimeout(life, workTimeout)
		defer cancel()
		var o *decryptedConnection
		err := c.Tasks.Try("connection refresh", func() (err error) { o, err = work(ctx); return err })
		return o, err
	})
	select {
	case r := <-done:
		o, _ := r.Val.(*decryptedConnection)
		return o, r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// retryWrite retries write, because what it stores can't be obtained a second time.
// It stops on success, on NOT_FOUND and after saveAttempts. write must read the
// row again, so that a retry includes concurrent changes.
func retryWrite(ctx context.Context, write func() error) error {
	wait := saveRetry
	for attempt := 1; ; attempt++ {
		err := write()
		if err == nil || attempt == saveAttempts || fault.Is(err, fault.CodeNotFound) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
			wait *= 2
		}
	}
}
