package oauthclient

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"mcpgateway/services/egress"
	"mcpgateway/services/oauthclient/authserver"
)

// Paths that authorization servers use.
const (
	DocumentPath = "/oauth/client-metadata.json"
	CallbackPath = "/oauth/callback"
)

// clientName is the display name of the gateway at authorization servers.
const clientName = "MCP Gateway"

// ClientMetadata is the gateway's client metadata document (OAuth Client ID
// Metadata Document, draft-ietf-oauth-client-id-metadata-document).
type ClientMetadata struct {
	ClientID                string   `json:"client_id"`
	ClientName              string   `json:"client_name"`
	ClientURI               string   `json:"client_uri"`
	RedirectURIs            []string `json:"redirect_uris"`
	GrantTypes              []string `json:"grant_types"`
	ResponseTypes           []string `json:"response_types"`
	TokenEndpointAuthMethod string   `json:"token_endpoint_auth_method"`
	ApplicationType         string   `json:"application_type"`
}

// ClientDocument serves the gateway's client metadata document. Its URL is the
// client ID at authorization servers that fetch it.
type ClientDocument struct {
	public *url.URL
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	now    func() time.Time

	mu     sync.Mutex
	judged time.Time
	why    string
}

// NewClientDocument returns the ClientDocument for the public URL. lookup
// resolves the addresses of a host; nil means the system resolver.
func NewClientDocument(public *url.URL, lookup func(ctx context.Context, host string) ([]netip.Addr, error), now func() time.Time) *ClientDocument {
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return &ClientDocument{public: public, lookup: lookup, now: now}
}

// URL returns the URL of the document.
func (d *ClientDocument) URL() string {
	return strings.TrimSuffix(d.public.String(), "/") + DocumentPath
}

// Served reports whether the document is served: under https, and not on a
// local address. It doesn't resolve names.
func (d *ClientDocument) Served() bool {
	host := d.public.Hostname()
	if d.public.Scheme != "https" || strings.EqualFold(host, "localhost") {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err != nil || egress.NewGuard(nil).Check(addr.Unmap()) == nil
}

// Metadata returns the content of the document.
func (d *ClientDocument) Metadata() ClientMetadata {
	base := strings.TrimSuffix(d.public.String(), "/")
	return ClientMetadata{
		ClientID: d.URL(), ClientName: clientName, ClientURI: base, RedirectURIs: []string{base + CallbackPath},
		GrantTypes: authserver.GrantTypes(), ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: authserver.AuthNone, ApplicationType: "web",
	}
}

// IneligibleReason returns the reason authorization servers can't fetch the document, or
// "". It requires an https URL on a host with only public addresses. The result
// is cached for 10 minutes.
func (d *ClientDocument) IneligibleReason(ctx context.Context) string {
	if d.public.Scheme != "https" {
		return "GATEWAY_PUBLIC_URL doesn't use https"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.now(); d.judged.IsZero() || now.Sub(d.judged) >= documentTrust {
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
func (d *ClientDocument) checkHost(ctx context.Context) (why string, known bool) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
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
