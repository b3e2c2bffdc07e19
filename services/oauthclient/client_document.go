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

// Paths of this product that authorization servers are told of.
const (
	DocumentPath = "/oauth/client-metadata.json"
	CallbackPath = "/oauth/callback"
)

// clientName is how the gateway introduces itself.
const clientName = "MCP Gateway"

// ClientMetadata is the client metadata document of the gateway (OAuth Client
// ID Metadata Document, draft-ietf-oauth-client-id-metadata-document).
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

// ClientDocument is the gateway's own client metadata document: its URL is the
// client id where authorization servers fetch it.
type ClientDocument struct {
	public *url.URL
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	now    func() time.Time

	mu     sync.Mutex
	judged time.Time
	why    string
}

// NewClientDocument returns the document under the public URL. lookup finds
// the addresses of a host; nil asks the system's resolver.
func NewClientDocument(public *url.URL, lookup func(ctx context.Context, host string) ([]netip.Addr, error), now func() time.Time) *ClientDocument {
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return &ClientDocument{public: public, lookup: lookup, now: now}
}

// URL returns where the document is served.
func (d *ClientDocument) URL() string {
	return strings.TrimSuffix(d.public.String(), "/") + DocumentPath
}

// Served reports whether the document is served at all: under https, and not
// on an address that is plainly nobody else's. Names are not looked up for it.
func (d *ClientDocument) Served() bool {
	host := d.public.Hostname()
	if d.public.Scheme != "https" || strings.EqualFold(host, "localhost") {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return err != nil || egress.NewGuard(nil).Check(addr.Unmap()) == nil
}

// Metadata returns what the document says.
func (d *ClientDocument) Metadata() ClientMetadata {
	base := strings.TrimSuffix(d.public.String(), "/")
	return ClientMetadata{
		ClientID: d.URL(), ClientName: clientName, ClientURI: base, RedirectURIs: []string{base + CallbackPath},
		GrantTypes: authserver.GrantTypes(), ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: authserver.AuthNone, ApplicationType: "web",
	}
}

// WhyNot returns why no authorization server can be expected to fetch the
// document, or "": it needs an https URL on a host with public addresses only.
// The judgement holds for ten minutes.
func (d *ClientDocument) WhyNot(ctx context.Context) string {
	if d.public.Scheme != "https" {
		return "GATEWAY_PUBLIC_URL is not https"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.now(); d.judged.IsZero() || now.Sub(d.judged) >= documentTrust {
		why, known := d.judge(ctx)
		if !known {
			return why
		}
		d.why, d.judged = why, now
	}
	return d.why
}

// judge looks at the host's addresses; known is false when they cannot be
// found at present.
func (d *ClientDocument) judge(ctx context.Context) (why string, known bool) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	host := d.public.Hostname()
	if strings.EqualFold(host, "localhost") {
		return "GATEWAY_PUBLIC_URL names this computer only", true
	}
	var addresses []netip.Addr
	if addr, err := netip.ParseAddr(host); err == nil {
		addresses = []netip.Addr{addr}
	} else if addresses, err = d.lookup(ctx, host); err != nil || len(addresses) == 0 {
		return "the host of GATEWAY_PUBLIC_URL has no address that can be looked up", false
	}
	public := egress.NewGuard(nil)
	for _, addr := range addresses {
		if public.Check(addr.Unmap()) != nil {
			return "the host of GATEWAY_PUBLIC_URL has an address that is not public", true
		}
	}
	return "", true
}
