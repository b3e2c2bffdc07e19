package oauthclient

import (
	"context"
	"errors"
	"strings"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
)

// Token returns the access token of Credentials.
func (c *Connections) Token(ctx context.Context, server models.Server, userID string) (secrets.Value, error) {
	given, err := c.Credentials(ctx, server, userID)
	return given.Bearer, err
}

// Credentials returns what a request to the server is sent with: those of the
// user, or of the account that all users share if userID is empty. It refreshes
// an expired token; one that expires soon is refreshed in the background. It
// returns UPSTREAM_UNAUTHORIZED if an administrator must connect the server,
// CONNECTION_REQUIRED if the user must connect their own account,
// PERSON_REQUIRED for a personal server without a user, and UPSTREAM_UNAVAILABLE
// or UPSTREAM_TIMEOUT with RetryAfter while the authorization server fails.
func (c *Connections) Credentials(ctx context.Context, server models.Server, userID string) (upstream.Credentials, error) {
	a := account{server, userID}
	o, err := c.usable(ctx, &a)
	if err != nil {
		return upstream.Credentials{}, err
	}
	now := c.Now()
	if userID != "" {
		c.uses.Note(a.id(), &o.Used, now)
	}
	if o.IsRefused() {
		if o, err = c.try(ctx, a, o); err != nil {
			return upstream.Credentials{}, err
		}
	}
	if o.Kind == models.KindToken {
		return o.Credentials(&a.Server), nil
	}
	if o.IsValid(now) {
		if o.NeedsRefresh(now) && o.IsRenewable() && !o.InBackoff(now) {
			if userID == "" {
				// Another process may have refreshed it: the next call reads it.
				c.cache.Forget(a.id())
			}
			c.wakeRefresher()
		}
		return o.Credentials(&a.Server), nil
	}
	if !o.IsRenewable() {
		return upstream.Credentials{}, c.ended(ctx, o, a)
	}
	if o, err = c.refresh(ctx, a, secrets.Value{}); err != nil {
		return upstream.Credentials{}, err
	}
	return o.Credentials(&a.Server), nil
}

// Usable returns nil if requests of a user, or with the shared account, have
// credentials, and otherwise the fault of Credentials. It sends nothing and
// rarely reads the database.
func (c *Connections) Usable(ctx context.Context, server models.Server, userID string) error {
	a := account{server, userID}
	o, err := c.usable(ctx, &a)
	switch {
	case err != nil:
		return err
	case o.IsRefused():
		return pendingFault(o, &a)
	case o.Kind == models.KindOAuth && !o.IsValid(c.Now()) && !o.IsRenewable():
		return a.fault(expired(&a))
	}
	return nil
}

// Secrets returns the refresh token of an account's connection and the secret
// of its client, if they exist and can be decrypted.
func (c *Connections) Secrets(ctx context.Context, server models.Server, userID string) []secrets.Value {
	a := account{server, userID}
	o, err := c.usable(ctx, &a)
	if err != nil || o.Kind != models.KindOAuth {
		return nil
	}
	var found []secrets.Value
	if v, err := c.open(o.RefreshToken, o.ID().RefreshTokenRow()); err == nil {
		found = append(found, v)
	}
	if self, err := c.clientOf(ctx, server, Kind(o.RegistrationKind), o.RegistrationID, o.ClientID, o.AuthMethod); err == nil {
		found = append(found, self.Secret)
	}
	return found
}

// usable returns the connection of an account, or the fault for one that must
// not be used.
func (c *Connections) usable(ctx context.Context, a *account) (*accounts.Connection, error) {
	if a.IsPersonal() && a.userID == "" {
		return nil, upstream.PersonRequired(a.Alias)
	}
	o, err := c.current(ctx, a.id())
	if err != nil {
		return nil, err
	}
	o = ownOf(o, &a.Server)
	return o, c.unusable(o, a)
}

// current returns a cached connection, or reads it.
func (c *Connections) current(ctx context.Context, id accounts.ID) (*accounts.Connection, error) {
	if o, _ := c.cache.Get(id); o != nil {
		return o, nil
	}
	return c.read(ctx, id)
}

// read reads a connection and caches it. If it is another one than before, it
// ends the upstream sessions of that.
func (c *Connections) read(ctx context.Context, id accounts.ID) (*accounts.Connection, error) {
	_, asOf := c.cache.Get(id)
	r, _, err := c.load(ctx, id)
	if err != nil {
		return nil, err
	}
	o, err := c.decrypted(r)
	if err != nil {
		return nil, err
	}
	if c.cache.Put(o, asOf) {
		c.end(id)
	}
	return o, nil
}

// decrypted returns a stored connection with its decrypted credentials.
func (c *Connections) decrypted(r models.PersonalConnection) (*accounts.Connection, error) {
	o := &accounts.Connection{PersonalConnection: r}
	o.Used.Set(r.UsedAt)
	var err error
	if o.Access, err = c.open(r.AccessToken, o.ID().AccessTokenRow()); err != nil {
		return nil, err
	}
	if len(r.Headers) > 0 {
		o.Headers = make(map[string]secrets.Value, len(r.Headers))
	}
	for name, sealed := range r.Headers {
		if o.Headers[name], err = c.open(sealed, o.ID().HeaderRow(name)); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// unusable returns the fault for a connection that must not be used for the
// server, regardless of its tokens, or nil.
func (c *Connections) unusable(o *accounts.Connection, a *account) error {
	switch {
	case a.userID != "" && !a.IsPersonal():
		return a.check()
	case a.userID != "" && c.Enabled != nil && !c.Enabled(a.userID):
		return upstream.ConnectionRequired(a.Alias, upstream.ReasonNotConnected)
	case o.State == string(IssuerChanged):
		return a.fault(fail(IssuerChanged, codeIssuerChanged, "The server trusts another authorization server."+a.reconnect()))
	case hasOwnClient(&a.Server):
		return c.unusableOwn(o, a)
	case o.RegistrationKind == string(OwnClient):
		return a.fault(fail(NeedsReauth, ReasonClientChanged, "It no longer uses client credentials. An administrator must connect it."))
	case a.userID != "" && !accounts.IsComplete(&o.PersonalConnection, &a.Server), a.userID == "" && o.AccessToken == "" && o.RefreshToken == "":
		return pendingFault(o, a)
	case o.ServerURL != a.URL:
		return a.fault(fail(NeedsReauth, ReasonURLChanged, "Its tokens are for another URL."+a.reconnect()))
	case o.RegistrationKind == string(Static) && o.ClientID != a.OAuthClientID:
		return a.fault(fail(NeedsReauth, ReasonClientChanged, "Its static client was changed."+a.reconnect()))
	}
	return nil
}

// pendingFault returns the fault for a connection with a pending authorization.
func pendingFault(o *accounts.Connection, a *account) *fault.Fault {
	state, text := State(o.State), o.ErrorText
	if a.userID != "" {
		if !state.NeedsAuthorization() {
			state = NotConnected // also while an authorization server is blocked
		}
		return a.fault(fail(state, o.ErrorCode, text))
	}
	if !strings.HasSuffix(text, a.reconnect()) {
		text = strings.TrimSpace("An administrator must connect it. " + text)
	}
	return a.fault(fail(state, o.ErrorCode, text))
}

// expired returns the failure of an access token that expired without a refresh
// token.
func expired(a *account) *failure {
	return fail(NeedsReauth, ReasonNoRefreshToken, "The access token expired, and there is no refresh token."+a.reconnect())
}

// ended stores that the access token expired without a refresh token, and
// returns the fault.
func (c *Connections) ended(ctx context.Context, o *accounts.Connection, a account) error {
	if State(o.State).NeedsAuthorization() && o.AccessToken == "" {
		return pendingFault(o, &a)
	}
	f := expired(&a)
	next := o.PersonalConnection
	next.AccessToken, next.ExpiresAt, next.RefreshAt = "", nil, nil
	if State(next.State).NeedsAuthorization() && next.Reason != ReasonInsufficientScope {
		f = fail(State(next.State), next.ErrorCode, next.ErrorText)
	} else {
		next.State, next.Reason = string(NeedsReauth), ReasonNoRefreshToken
		c.failed(&next, f)
	}
	return c.requireAuthorization(ctx, &next, a, f)
}

// requireAuthorization saves a connection that must be authorized again, records
// connection.needs_reauth and returns the fault. After a concurrent change, it
// writes nothing.
func (c *Connections) requireAuthorization(ctx context.Context, next *models.PersonalConnection, a account, f *failure) error {
	s, err := c.subject(ctx, a.id())
	if err != nil {
		return err
	}
	err = c.save(ctx, next, change{entry: s.entry("needs_reauth", map[string]string{"state": next.State, "reason": next.Reason, "code": f.code, "message": f.text})})
	if err != nil && !errors.Is(err, accounts.ErrOutdated) {
		return err
	}
	return a.fault(f)
}

// singleflight runs work once for concurrent callers with the same key. It continues
// after the first caller is cancelled; each caller waits until its own context
// is done.
func (c *Connections) singleflight(ctx context.Context, key string, work func(context.Context) (*accounts.Connection, error)) (*accounts.Connection, error) {
	life := context.WithoutCancel(ctx)
	done := c.flights.DoChan(key, func() (any, error) {
		if !c.begin() {
			return (*accounts.Connection)(nil), fault.Upstream(fault.CodeUpstreamUnavailable, "The gateway is shutting down. Retry shortly.")
		}
		defer c.work.Done()
		ctx, cancel := context.WithTimeout(life, workTimeout)
		defer cancel()
		var o *accounts.Connection
		err := c.Tasks.Try("connection refresh", func() (err error) { o, err = work(ctx); return err })
		return o, err
	})
	select {
	case r := <-done:
		o, _ := r.Val.(*accounts.Connection)
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
