package egress

import (
	"net/http"
	"net/netip"
	"time"
)

// telemetryTimeout bounds one delivery to a collector.
const telemetryTimeout = 15 * time.Second

// Telemetry returns the client for the collector that the operator named. It
// reaches internal addresses too, whatever upstream servers may reach: nobody
// but the operator says where it connects, and collectors stand inside. Link-
// local, metadata and tunnel addresses stay closed. It follows no redirects.
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
