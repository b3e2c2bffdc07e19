package egress

import (
	"net/http"
	"net/netip"
	"time"
)

// telemetryTimeout limits an export to a collector.
const telemetryTimeout = 15 * time.Second

// Telemetry returns the client for the operator's collector. It also reaches
// internal addresses, independently of the upstream rules: only the operator
// configures the collector, which is usually internal. Link-local, metadata and
// tunnel addresses are blocked. It follows no redirects.
func (c *Clients) Telemetry() *http.Client { return c.telemetry }

func newTelemetryClient(chosen *settings) *http.Client {
	guard := NewGuard([]netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")})
	transport := newTransport(guard.control, chosen)
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 2, 2
	return &http.Client{
		Transport: transport, Timeout: telemetryTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Events returns the client for destinations of events. It follows no redirects,
// because a redirect is a failed delivery. Addresses are restricted as for MCP.
// The only timeout is the request's context.
func (c *Clients) Events() *http.Client {
	return &http.Client{
		Transport: c.transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
