// Package clientdocument serves the gateway's client metadata document, by which
// it identifies itself to authorization servers.
package clientdocument

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"mcpgateway/services/egress"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthclient/authserver"
)

// Path is the path of the document.
const Path = "/oauth/client-metadata.json"

const (
	lookupTimeout = 10 * time.Second
	trust         = 10 * time.Minute // cache lifetime of the check of the host
)

// Metadata is the gateway's client metadata document (OAuth Client ID
// Metadata Document, draft-ietf-oauth-client-id-metadata-document).
type Metadata struct {
	ClientID                string   `json:"client_id"`
	ClientName              string   `json:"client_name"`
	ClientURI               string   `json:"client_uri"`
	RedirectURIs            []string `json:"redirect_uris"`
	GrantTypes              []string `json:"grant_types"`
	ResponseTypes           []string `json:"response_types"`
	TokenEndpointAuthMethod string   `json:"token_endpoint_auth_method"`
	ApplicationType         string   `json:"application_type"`
}

// Document is the gateway's client metadata document. Its URL is the
// client ID at authorization servers that fetch it.
type Document struct {
	public *url.URL
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	now    func() time.Time

	mu     sync.Mutex
	judged time.Time
	why    string
}

// New returns the Document for the public URL. lookup
// resolves the addresses of a host; nil means the system resolver.
func New(public *url.URL, lookup func(ctx context.Context, host string) ([]netip.Addr, error), now func() time.Time) *Document {
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return &Document{public: public, lookup: lookup, now: now}
}

// URL returns the URL of the document.
func (d *Document) URL() string {
	return strings.TrimSuffix(d.public.String(), "/") + Path
}

// Served reports whether the document is served: under https, and not on a
// local address. It doesn't resolve names.
func (d *Document) Served() bool {
	host := d.public.Hostname()
	if d.public.Scheme != "https" || strings.EqualFold(host, "localhost") {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err != nil || egress.NewGuard(nil).Check(addr.Unmap()) == nil
}

// Metadata returns the content of the document.
func (d *Document) Metadata() Metadata {
	base := strings.TrimSuffix(d.public.String(), "/")
	return Metadata{
		ClientID: d.URL(), ClientName: oauthclient.ClientName, ClientURI: base, RedirectURIs: []string{base + oauthclient.CallbackPath},
		GrantTypes: authserver.GrantTypes(), ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: authserver.AuthNone, ApplicationType: "web",
	}
}

// IneligibleReason returns the reason authorization servers can't fetch the document, or
// "". It requires an https URL on a host with only public addresses. The result
// is cached for 10 minutes.
func (d *Document) IneligibleReason(ctx context.Context) string {
	if d.public.Scheme != "https" {
		return "GATEWAY_PUBLIC_URL doesn't use https"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.now(); d.judged.IsZero() || now.Sub(d.judged) >= trust {
		why, known := d.checkHost(ctx)
		if !known {
			return why
		}
		d.why, d.judged = why, now
	}
	return d.why
}

// checkHost checks the addresses of the host. known is false if they can't be
// resolved.
func (d *Document) checkHost(ctx context.Context) (why string, known bool) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	host := d.public.Hostname()
	if strings.EqualFold(host, "localhost") {
		return "GATEWAY_PUBLIC_URL is a loopback address", true
	}
	var addresses []netip.Addr
	if addr, err := netip.ParseAddr(host); err == nil {
		addresses = []netip.Addr{addr}
	} else if addresses, err = d.lookup(ctx, host); err != nil || len(addresses) == 0 {
		return "the host of GATEWAY_PUBLIC_URL can't be resolved", false
	}
	public := egress.NewGuard(nil)
	for _, addr := range addresses {
		if public.Check(addr.Unmap()) != nil {
			return "the host of GATEWAY_PUBLIC_URL has a non-public address", true
		}
	}
	return "", true
}
