// Package oidc authenticates users with an OpenID Connect provider.
package oidc

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"mcpgateway/services/access"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

// Limits of requests to the provider.
const (
	MaxResponse = 1 << 20 // bytes of a response

	callTimeout  = 10 * time.Second
	discoveryAge = time.Hour       // cache lifetime of the discovery document
	retryAfter   = 5 * time.Second // minimum time between attempts to read it
)

// maxAge is the max_age parameter in seconds. Providers that receive it must
// send auth_time in the ID token (OpenID Connect Core 1.0, section 2).
const maxAge = "86400"

// Options identify the provider and the client.
type Options struct {
	Issuer       string
	ClientID     string
	ClientSecret secrets.Value // empty for a public client
	RedirectURL  string
	Scopes       []string // requested in addition to openid, email and profile
	GroupsClaim  string   // name of the claim with the user's groups, or its path with dots
}

// Provider is an OpenID Connect provider. Its configuration is read on first
// use, so that the provider can be down when the gateway starts. It is safe for
// concurrent use.
type Provider struct {
	options Options
	client  *http.Client
	now     func() time.Time

	sem     chan struct{} // semaphore for reading the configuration
	mu      sync.Mutex    // guards the fields below
	last    *discovered
	next    time.Time // earliest time of the next read
	lastErr error     // error of the last attempt
}

// discovered is the provider's configuration.
type discovered struct {
	*oidc.Provider
	sendsIssuer bool // responses must have iss (RFC 9207)
}

// NewProvider returns the provider. It sends requests with client, which must
// come from services/egress.
func NewProvider(o Options, client *http.Client, now func() time.Time) *Provider {
	bounded := *client
	bounded.Timeout = callTimeout
	bounded.Transport = limitedResponses{client.Transport}
	return &Provider{options: o, client: &bounded, now: now, sem: make(chan struct{}, 1)}
}

// AuthorizeURL returns the URL to redirect the browser to. It returns
// UNAVAILABLE while the provider's configuration can't be read.
func (p *Provider) AuthorizeURL(ctx context.Context, q Challenge) (string, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(q.Nonce), oauth2.S256ChallengeOption(q.Verifier)}
	if q.Fresh {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	} else {
		options = append(options, oauth2.SetAuthURLParam("max_age", maxAge))
	}
	return p.config(d).AuthCodeURL(q.State, options...), nil
}

// Identify redeems the code and returns the identity from the ID token. The
// token must be signed by the provider's keys, have its exact issuer, this
// client as audience, valid times and the challenge's nonce. Otherwise it
// returns UNAUTHORIZED with the reason as cause. It returns UNAVAILABLE if the
// provider can't be reached.
func (p *Provider) Identify(ctx context.Context, code, issuer string, q Challenge) (access.Identity, error) {
	d, err := p.discover(ctx)
	if err != nil {
		return access.Identity{}, err
	}
	// Check the issuer before the code is sent.
	if issuer != p.options.Issuer && (issuer != "" || d.sendsIssuer) {
		return access.Identity{}, unproved(errors.New("response from another issuer"))
	}
	ctx = oidc.ClientContext(ctx, p.client)
	tokens, err := p.config(d).Exchange(ctx, code, oauth2.VerifierOption(q.Verifier))
	if err != nil {
		return access.Identity{}, p.exchangeFault(err)
	}
	raw, ok := tokens.Extra("id_token").(string)
	if !ok {
		return access.Identity{}, unproved(errors.New("no ID token in response"))
	}
	token, err := d.VerifierContext(ctx, &oidc.Config{ClientID: p.options.ClientID, Now: p.now}).Verify(ctx, raw)
	if err != nil {
		return access.Identity{}, unproved(err)
	}
	return p.identity(ctx, d, tokens, token, q)
}

// claims are the claims of an ID token or of the user info endpoint.
type claims struct {
	Email         string     `json:"email"`
	EmailVerified *claimBool `json:"email_verified"` // nil if absent
	Name          string     `json:"name"`
	Party         string     `json:"azp"`
	AuthTime      int64      `json:"auth_time"`
	groups        reported   // of GroupsClaim
}

// claimBool is true only for true and "true", which some providers send.
type claimBool bool

// UnmarshalJSON parses the claim. Unexpected values are false.
func (b *claimBool) UnmarshalJSON(text []byte) error {
	*b = string(text) == "true" || string(text) == `"true"`
	return nil
}

func (p *Provider) identity(ctx context.Context, d *discovered, tokens *oauth2.Token, token *oidc.IDToken, q Challenge) (access.Identity, error) {
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(q.Nonce)) != 1 {
		return access.Identity{}, unproved(errors.New("ID token has another nonce"))
	}
	c, err := p.claims(token, q)
	if err != nil {
		return access.Identity{}, unproved(err)
	}
	if c.Party != "" && c.Party != p.options.ClientID || c.Party == "" && len(token.Audience) > 1 {
		return access.Identity{}, unproved(errors.New("ID token was issued to another client"))
	}
	if (c.Email == "" || c.EmailVerified == nil || q.Groups && !c.groups.present) && d.UserInfoEndpoint() != "" {
		if err := p.addUserInfo(ctx, d, tokens, token.Subject, &c, q); err != nil {
			return access.Identity{}, err
		}
	}
	identity := access.Identity{
		Issuer: token.Issuer, Subject: token.Subject, Email: c.Email, EmailVerified: c.EmailVerified != nil && bool(*c.EmailVerified), Name: c.Name,
		Groups: c.groups.report(),
	}
	if c.AuthTime > 0 {
		identity.AuthenticatedAt = time.Unix(c.AuthTime, 0).UTC()
	}
	return identity, nil
}

// addUserInfo adds the claims that the ID token lacks from the user info
// endpoint (OpenID Connect Core 1.0, section 5.3), which must return the same
// subject. Its email_verified applies only to its own email address: an ID
// token with a different address stays unverified.
func (p *Provider) addUserInfo(ctx context.Context, d *discovered, tokens *oauth2.Token, subject string, c *claims, q Challenge) error {
	info, err := d.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		var network *url.Error
		if !errors.As(err, &network) {
			err = errors.New(clip(err.Error())) // it contains the response body
		}
		return unavailable(fmt.Errorf("read user info: %w", err))
	}
	if info.Subject != subject {
		return unproved(errors.New("user info has a different subject"))
	}
	more, err := p.claims(info, q)
	if err != nil {
		return unproved(err)
	}
	c.groups = c.groups.or(more.groups)
	switch {
	case c.Email != "" && c.EmailVerified != nil: // the user info was read for the groups alone
	case c.Email == "" || strings.EqualFold(c.Email, more.Email):
		c.Email, c.EmailVerified = cmp.Or(c.Email, more.Email), more.EmailVerified
	}
	c.Name = cmp.Or(c.Name, more.Name)
	return nil
}

// scopes returns the requested scopes without duplicates.
func (p *Provider) scopes() []string {
	scopes := []string{oidc.ScopeOpenID, oidc.ScopeEmail, oidc.ScopeProfile}
	for _, scope := range p.options.Scopes {
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

func (p *Provider) config(d *discovered) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.options.ClientID, ClientSecret: p.options.ClientSecret.Reveal(), Endpoint: d.Endpoint(), RedirectURL: p.options.RedirectURL,
		Scopes: p.scopes(),
	}
}

// discover returns the provider's configuration and refreshes it after
// discoveryAge. If that fails, it returns the old one.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	if o := p.known(); o != nil {
		return o.config, o.err
	}
	select {
	case p.sem <- struct{}{}:
		defer func() { <-p.sem }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if o := p.known(); o != nil {
		return o.config, o.err // read by a concurrent caller
	}
	fresh, err := p.read(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastErr, p.next = err, p.now().Add(discoveryAge)
	if err != nil {
		p.next = p.now().Add(retryAfter)
	} else {
		p.last = fresh
	}
	if p.last == nil {
		return nil, unavailable(err)
	}
	return p.last, nil
}

// outcome is the result of an attempt to read the configuration.
type outcome struct {
	config *discovered
	err    error
}

// known returns the outcome of the last attempt, or nil if the next one is due.
func (p *Provider) known() *outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.now().Before(p.next):
		return nil
	case p.last == nil:
		return &outcome{err: unavailable(p.lastErr)}
	}
	return &outcome{config: p.last}
}

func (p *Provider) read(ctx context.Context) (*discovered, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.options.Issuer)
	if err != nil {
		return nil, err
	}
	var document struct {
		SendsIssuer bool     `json:"authorization_response_iss_parameter_supported"`
		Challenges  []string `json:"code_challenge_methods_supported"`
	}
	if err := provider.Claims(&document); err != nil {
		return nil, err
	}
	if document.Challenges != nil && !slices.Contains(document.Challenges, "S256") {
		return nil, errors.New("provider doesn't support PKCE with S256")
	}
	endpoints := []string{provider.Endpoint().AuthURL, provider.Endpoint().TokenURL}
	if userInfo := provider.UserInfoEndpoint(); userInfo != "" {
		endpoints = append(endpoints, userInfo)
	}
	for _, address := range endpoints {
		// Only a cleartext issuer may have cleartext endpoints.
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && strings.HasPrefix(p.options.Issuer, "http:")) {
			return nil, errors.New("provider endpoint without https")
		}
	}
	return &discovered{Provider: provider, sendsIssuer: document.SendsIssuer}, nil
}

// exchangeFault distinguishes a rejected code from an unavailable provider.
func (p *Provider) exchangeFault(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil && refused.Response.StatusCode < 500 {
		// The body is not logged, because the provider may send secrets in it.
		return unproved(errors.New("provider rejected the code: " + clip(refused.ErrorCode)))
	}
	if refused != nil {
		err = errors.New("token endpoint failed")
	}
	return unavailable(err)
}

func clip(s string) string { return s[:min(len(s), 100)] }

func unproved(cause error) error {
	return fault.New(fault.KindUnauthorized, fault.CodeUnauthorized, "We couldn't verify your identity. Sign in again, or ask an administrator.").Because(cause)
}

func unavailable(cause error) error {
	f := fault.New(fault.KindUnavailable, fault.CodeUnavailable, "Can't reach the identity provider. Try again later, or sign in with a password.").Because(cause)
	f.RetryAfter = retryAfter
	return f
}

// limitedResponses limits the size of responses.
type limitedResponses struct{ http.RoundTripper }

// RoundTrip sends the request. Reading more than MaxResponse bytes of the
// response fails.
func (b limitedResponses) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: MaxResponse}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader and fails beyond the limit.
func (b *boundedBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	if b.left -= int64(n); b.left < 0 {
		return n, errors.New("response of the identity provider is too large")
	}
	return n, err
}
