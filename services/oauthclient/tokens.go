package oauthclient

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"slices"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient/authserver"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

// Token returns the access token for a request to the server. It renews one
// that has ended; one that is about to end is renewed in the background. It
// returns UPSTREAM_UNAUTHORIZED when a person has to connect the server, and
// UPSTREAM_UNAVAILABLE or UPSTREAM_TIMEOUT with RetryAfter while the
// authorization server fails.
func (c *Connections) Token(ctx context.Context, server models.Server) (secrets.Value, error) {
	o, err := c.current(ctx, server.ID)
	if err != nil {
		return secrets.Value{}, err
	}
	if err := c.unusable(o, server); err != nil {
		return secrets.Value{}, err
	}
	now := c.Now()
	if o.works(now) {
		if o.due(now) && o.renewable() && !o.pauses(now) {
			// It may have been renewed elsewhere: the next call looks.
			c.cache.forget(server.ID)
			c.poke()
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

// Refused is told that the server refused a token, and returns the one to try
// once more; the zero Value when there is nothing better and the refusal is
// the answer. A token that another call has renewed already is returned at
// once. Otherwise the connection is renewed early, at most once a minute.
//
// It returns the faults of Token, and UPSTREAM_UNAUTHORIZED when a person is
// needed: the server trusts another authorization server now (the old tokens
// are never sent again), or asks for rights that were not granted.
func (c *Connections) Refused(ctx context.Context, server models.Server, token secrets.Value, refusal *upstream.Challenge) (secrets.Value, error) {
	hash := sha256.Sum256([]byte(token.Reveal()))
	out, err := c.once(ctx, "refused "+server.ID+" "+string(hash[:]), func(ctx context.Context) (*opened, error) {
		return c.refused(ctx, server, token, refusal)
	})
	if err != nil || out == nil {
		return secrets.Value{}, err
	}
	return out.access, nil
}

// refused is Refused, once for all who sent the same token. It returns nil
// when there is nothing better.
func (c *Connections) refused(ctx context.Context, server models.Server, token secrets.Value, refusal *upstream.Challenge) (*opened, error) {
	o, err := c.read(ctx, server.ID)
	if err != nil {
		return nil, err
	}
	if err := c.unusable(o, server); err != nil {
		return nil, err
	}
	if o.works(c.Now()) && o.access.Reveal() != token.Reveal() {
		return o, nil
	}
	said, challenged := authserver.ParseChallenge(refusal.WWWAuthenticate)
	if refusal.Status == http.StatusForbidden {
		if said.Code != "insufficient_scope" || len(said.Scopes) == 0 {
			return nil, nil
		}
		return nil, c.missesScopes(ctx, o, server, said.Scopes)
	}
	if challenged {
		if err := c.checkIssuer(ctx, o, server, said); err != nil {
			return nil, err
		}
	}
	if !o.renewable() {
		return nil, c.ended(ctx, o, server)
	}
	if o.ForcedAt != nil && c.Now().Sub(*o.ForcedAt) < forcedSpacing {
		return nil, fail(Degraded, codeTokenRejected, "the server refuses the token that its authorization server granted a moment ago").asFault(server.Alias)
	}
	return c.refresh(ctx, server, token)
}

// Secrets returns the refresh token of the server's connection and the secret of
// its client, as far as there are some that can be read.
func (c *Connections) Secrets(ctx context.Context, server models.Server) []secrets.Value {
	o, err := c.current(ctx, server.ID)
	if err != nil {
		return nil
	}
	var found []secrets.Value
	if v, err := c.open(o.RefreshToken, RefreshTokenRow(o.ServerID)); err == nil {
		found = append(found, v)
	}
	if self, err := c.clientOf(ctx, server, Kind(o.RegistrationKind), o.RegistrationID, o.ClientID, o.AuthMethod); err == nil {
		found = append(found, self.Secret)
	}
	return found
}

// current returns a connection from memory, or else reads it.
func (c *Connections) current(ctx context.Context, serverID string) (*opened, error) {
	if o, _ := c.cache.get(serverID); o != nil {
		return o, nil
	}
	return c.read(ctx, serverID)
}

// read reads a connection and keeps it.
func (c *Connections) read(ctx context.Context, serverID string) (*opened, error) {
	_, asOf := c.cache.get(serverID)
	r, _, err := row(c.DB.WithContext(ctx), serverID)
	if err != nil {
		return nil, err
	}
	o := &opened{Connection: r}
	if o.access, err = c.open(r.AccessToken, AccessTokenRow(serverID)); err != nil {
		return nil, err
	}
	c.cache.put(o, asOf)
	return o, nil
}

// unusable returns why nothing of a connection may be used for the server,
// whatever its tokens say, or nil.
func (c *Connections) unusable(o *opened, server models.Server) error {
	switch {
	case o.State == string(IssuerChanged):
		return fail(IssuerChanged, codeIssuerChanged, "the server trusts another authorization server now: connect it again").asFault(server.Alias)
	case o.AccessToken == "" && o.RefreshToken == "":
		return asks(o, server)
	case o.ServerURL != server.URL:
		return fail(NeedsReauth, ReasonURLChanged, "its tokens are for another URL than the configured one: connect it again").asFault(server.Alias)
	case o.RegistrationKind == string(Static) && o.ClientID != server.OAuthClientID:
		return fail(NeedsReauth, ReasonClientChanged, "another static client was entered: connect it again").asFault(server.Alias)
	}
	return nil
}

// asks returns the fault for a connection that waits for a person.
func asks(o *opened, server models.Server) *fault.Fault {
	text := "an administrator has to connect it"
	if o.ErrorText != "" {
		text += ": " + o.ErrorText
	}
	return fail(State(o.State), o.ErrorCode, text).asFault(server.Alias)
}

// ended stores that the access token is gone and cannot be renewed, and
// returns the fault that says so.
func (c *Connections) ended(ctx context.Context, o *opened, server models.Server) error {
	if State(o.State).needsPerson() && o.AccessToken == "" {
		return asks(o, server)
	}
	f := fail(NeedsReauth, ReasonNoRefreshToken, "its access token ended and cannot be renewed, because no refresh token was granted")
	next := o.Connection
	next.AccessToken, next.ExpiresAt, next.RefreshAt = "", nil, nil
	if State(next.State).needsPerson() && next.Reason != ReasonInsufficientScope {
		f = fail(State(next.State), next.ErrorCode, next.ErrorText)
	} else {
		next.State, next.Reason = string(NeedsReauth), ReasonNoRefreshToken
		c.failed(&next, f)
	}
	if err := c.needPerson(ctx, &next, server, f); err != nil {
		return err
	}
	return f.asFault(server.Alias)
}

// needPerson saves a connection that waits for a person and records
// connection.needs_reauth. Somebody's newer change stands.
func (c *Connections) needPerson(ctx context.Context, next *models.Connection, server models.Server, f *failure) error {
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

// missesScopes stores that the server asks for rights that were not granted.
// The token stays in use for everything else.
func (c *Connections) missesScopes(ctx context.Context, o *opened, server models.Server, scopes []string) error {
	f := fail(NeedsReauth, ReasonInsufficientScope, "the server asks for rights that were not granted ("+joinScopes(scopes)+"): connect it again to grant them")
	needed := authserver.ValidScopes(slices.Concat(o.ScopesNeeded, scopes))
	if o.Reason == ReasonInsufficientScope && len(needed) == len(o.ScopesNeeded) {
		return f.asFault(server.Alias) // that is known
	}
	next := o.Connection
	next.State, next.Reason, next.ScopesNeeded = string(NeedsReauth), ReasonInsufficientScope, needed
	c.failed(&next, f)
	if err := c.needPerson(ctx, &next, server, f); err != nil {
		return err
	}
	return f.asFault(server.Alias)
}

// checkIssuer asks the server which authorization servers it trusts. When the
// connection's is none of them any more, its tokens are of no use and are not
// sent anywhere again (MCP 2026-07-28, SEP-2352). A server that does not say
// is taken to trust the same as before.
func (c *Connections) checkIssuer(ctx context.Context, o *opened, server models.Server, said authserver.Challenge) error {
	found, cancel := context.WithTimeout(ctx, c.RequestTimeout)
	defer cancel()
	address, err := c.address(server)
	if err != nil {
		return err
	}
	issuers, err := c.authClient.TrustedIssuers(found, address, said)
	if err != nil || len(issuers) == 0 || slices.Contains(issuers, o.Issuer) {
		return nil
	}
	f := fail(IssuerChanged, codeIssuerChanged, "the server trusts "+issuers[0]+" now and not "+o.Issuer+" any more: connect it again")
	next := o.Connection
	next.State, next.Reason = string(IssuerChanged), ""
	next.AccessToken, next.RefreshToken, next.ExpiresAt, next.RefreshAt = "", "", nil, nil
	c.failed(&next, f)
	if err := c.needPerson(ctx, &next, server, f); err != nil {
		return err
	}
	return f.asFault(server.Alias)
}

// once runs work for all who ask for the same at the same time. It does not
// end with the one who asked first; each waits as long as its own context.
func (c *Connections) once(ctx context.Context, key string, work func(context.Context) (*opened, error)) (*opened, error) {
	life := context.WithoutCancel(ctx)
	done := c.flights.DoChan(key, func() (any, error) {
		if !c.begin() {
			return (*opened)(nil), fault.Upstream(fault.CodeUpstreamUnavailable, "the gateway is shutting down")
		}
		defer c.work.Done()
		ctx, cancel := context.WithTimeout(life, workTimeout)
		defer cancel()
		var o *opened
		err := c.Tasks.Try("use of a connection", func() (err error) { o, err = work(ctx); return err })
		return o, err
	})
	select {
	case r := <-done:
		o, _ := r.Val.(*opened)
		return o, r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// again runs write until it succeeds or is refused, because what it stores
// cannot be had a second time. A write that others were quicker than is done
// over what they wrote.
func again(ctx context.Context, write func() error) error {
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
