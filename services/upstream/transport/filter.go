package transport

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mcpgateway/services/redact"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// maxKnownSecrets is the maximum number of secrets per session, because renewed
// tokens accumulate. The oldest ones are dropped.
const maxKnownSecrets = 16

// Filter removes the credentials of a server from everything that it sends,
// before any other processing. Values shorter than redact.MinValue bytes are
// not removed. It is safe for concurrent use.
type Filter struct {
	target  *upstream.Target
	address string // the URL of the server with its query values
	current atomic.Pointer[filteredHeader]
	mu      sync.Mutex // held while current is replaced
	known   []string   // newest first
}

// filteredHeader is a configured header and the values to remove because of it.
type filteredHeader struct {
	header http.Header
	values *redact.Values
}

// NewFilter returns the filter of a session with the target at the address,
// which is its URL including secret query values.
func NewFilter(t *upstream.Target, address string) *Filter {
	return &Filter{target: t, address: address}
}

// Headers returns the configured headers of a request and adds their
// credentials to the filter.
func (f *Filter) Headers(ctx context.Context) (http.Header, error) {
	return f.HeadersOf(ctx, f.target)
}

// HeadersOf is like Headers for the target of a call, which can be newer than
// the session's but has the same version.
func (f *Filter) HeadersOf(ctx context.Context, t *upstream.Target) (http.Header, error) {
	if t.Headers == nil {
		f.use(ctx, nil)
		return nil, nil
	}
	h, err := t.Headers(ctx)
	if err == nil {
		f.use(ctx, h)
	}
	return h, err
}

// isPersonal reports whether the credentials are a user's own.
func (f *Filter) isPersonal() bool { return f.target.Person != "" }

// accepted reports that the upstream accepted a request.
func (f *Filter) accepted(req *http.Request) {
	if f.target.Accepted != nil {
		f.target.Accepted(req.Context(), req.Header)
	}
}

// use adds the credentials of headers before they are sent.
func (f *Filter) use(ctx context.Context, h http.Header) {
	if f.has(h) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.has(h) {
		return
	}
	found := secretsOfURL(f.address, f.target.Address != nil)
	for name, values := range h {
		found = append(found, secretsOfHeader(name, values)...)
	}
	if f.target.Secrets != nil {
		for _, v := range f.target.Secrets(ctx) {
			found = append(found, v.Reveal())
		}
	}
	for _, secret := range found {
		if len(secret) >= redact.MinValue && !slices.Contains(f.known, secret) {
			f.known = slices.Insert(f.known, 0, secret)
		}
	}
	f.known = f.known[:min(len(f.known), maxKnownSecrets)]
	f.current.Store(&filteredHeader{header: maps.Clone(h), values: redact.NewValues(f.known...)})
}

// has reports whether the credentials of the headers are in the filter.
func (f *Filter) has(h http.Header) bool {
	c := f.current.Load()
	return c != nil && maps.EqualFunc(c.header, h, slices.Equal)
}

func (f *Filter) values() *redact.Values {
	if c := f.current.Load(); c != nil {
		return c.values
	}
	return nil
}

func (f *Filter) json(raw []byte) []byte { return f.values().JSON(raw) }

// Text returns s without credentials.
func (f *Filter) Text(s string) string { return f.values().Text(s) }

// responseHeader removes credentials from a response header. The session ID is
// unchanged, because it is only sent back to the upstream.
func (f *Filter) responseHeader(h http.Header) {
	values := f.values()
	if values == nil {
		return
	}
	for name, fields := range h {
		if name == wire.HeaderSession {
			continue
		}
		for i := range fields {
			fields[i] = values.Text(fields[i])
		}
	}
}

// secretsOfHeader returns the secrets in a configured header: each value
// without its scheme, and for Basic credentials also the decoded pair and the
// password.
func secretsOfHeader(name string, values []string) []string {
	if holdsSetting(name) {
		return nil
	}
	var found []string
	for _, value := range values {
		scheme, credentials, ok := strings.Cut(value, " ")
		if !ok {
			found = append(found, value)
			continue
		}
		found = append(found, strings.TrimSpace(credentials))
		if strings.EqualFold(scheme, "Basic") {
			if pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(credentials)); err == nil {
				_, password, _ := strings.Cut(string(pair), ":")
				found = append(found, string(pair), password)
			}
		}
	}
	return found
}

// holdsSetting reports whether the name of a header is that of a setting, such
// as a version, a language or a list of tools. Its value can be an ordinary
// word, and removing that word would damage results.
func holdsSetting(name string) bool {
	name = textproto.CanonicalMIMEHeaderKey(name)
	switch name {
	case "User-Agent", "Origin", "Referer", "Cache-Control", wire.HeaderTrace, wire.HeaderState:
		return true
	}
	return strings.HasPrefix(name, "Accept") || strings.HasPrefix(name, "Content-") || strings.HasPrefix(name, "X-Mcp-") && !redact.Secret(name) ||
		strings.HasSuffix(name, "-Version") || strings.HasSuffix(name, "-Region")
}

// secretsOfURL returns the password of a URL and the values of its query.
// Unless all is set, it returns only query values with a secret name.
func secretsOfURL(raw string, all bool) []string {
	u, err := url.Parse(raw)
	if err != nil {
		return nil
	}
	var found []string
	if password, ok := u.User.Password(); ok {
		found = append(found, password)
	}
	for name, values := range u.Query() {
		if all || redact.Secret(name) {
			found = append(found, values...)
		}
	}
	return found
}
