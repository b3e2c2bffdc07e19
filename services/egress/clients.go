package egress

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"mcpgateway/services/background"
)

// Limits of outbound connections. The duration of a whole call is limited only
// by the request's context.
const (
	dialTimeout       = 10 * time.Second
	keepAlive         = 30 * time.Second
	tlsTimeout        = 10 * time.Second
	continueTimeout   = time.Second
	headerTimeout     = 15 * time.Minute // a tool can compute for a long time before it responds
	headerLimit       = 64 << 10         // bytes of a response's header
	idleTimeout       = 90 * time.Second
	idleConnsTotal    = 8192             // to all hosts
	idleConnsPerHost  = 4096             // the maximum concurrency of a server
	resumableSessions = 512              // of TLS, over all hosts
	silenceBeforePing = 30 * time.Second // HTTP/2
	pingTimeout       = 15 * time.Second // HTTP/2
	redirectLimit     = 3
)

// settings are set by options.
type settings struct {
	resolver   *net.Resolver
	roots      *x509.CertPool
	fetchAllow []netip.Prefix
	fetchPorts []uint16
	tasks      *background.Tasks
}

// Option configures outbound connections.
type Option func(*settings)

// WithRootCAs replaces the system's certificate authorities by roots.
func WithRootCAs(roots *x509.CertPool) Option { return func(s *settings) { s.roots = roots } }

// WithFetchTo allows the client of Fetch to reach additional addresses and
// ports besides public ones on 80 and 443. The denylist still applies.
func WithFetchTo(allow []netip.Prefix, ports ...uint16) Option {
	return func(s *settings) {
		s.fetchAllow = append(s.fetchAllow, allow...)
		s.fetchPorts = append(s.fetchPorts, ports...)
	}
}

// WithTasks starts the clients' goroutines with tasks.
func WithTasks(tasks *background.Tasks) Option { return func(s *settings) { s.tasks = tasks } }

// Clients contains the outbound HTTP clients. All except Fetch's share a
// connection pool and the guard's rules. Proxy settings of the environment are
// ignored, because the guard can't check a proxy's connections.
type Clients struct {
	transport *transport
	servers   serverTransports
	mcp       *http.Client
	catalog   *http.Client
	fetching  *http.Transport
	fetch     *http.Client
	telemetry *http.Client
}

// NewClients returns clients restricted by guard.
func NewClients(guard *Guard, options ...Option) *Clients {
	var chosen settings
	for _, option := range options {
		option(&chosen)
	}
	transport := &transport{
		idle:   idleConns{tasks: chosen.tasks},
		dialer: newDialer(guard.control, &chosen),
		tls: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: chosen.roots,
			ClientSessionCache: tls.NewLRUClientSessionCache(resumableSessions),
		},
		http2: newTransport(guard.control, &chosen),
	}
	fetching := newFetchTransport(&chosen)
	return &Clients{
		transport: transport,
		servers:   serverTransports{control: guard.control, chosen: chosen},
		mcp:       &http.Client{Transport: transport, CheckRedirect: sameOriginRedirects},
		catalog:   &http.Client{Transport: transport, CheckRedirect: publicRedirects},
		fetching:  fetching,
		fetch:     &http.Client{Transport: fetching, CheckRedirect: fetchRedirects},
		telemetry: newTelemetryClient(&chosen),
	}
}

// control accepts or rejects a connection before it is made (net.Dialer).
type control = func(network, address string, c syscall.RawConn) error

// newDialer returns a dialer restricted by control.
func newDialer(control control, chosen *settings) *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, Control: control, Resolver: chosen.resolver}
}

// newTransport returns a net/http transport restricted by control.
func newTransport(control control, chosen *settings) *http.Transport {
	return &http.Transport{
		DialContext:            newDialer(control, chosen).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: chosen.roots},
		TLSHandshakeTimeout:    tlsTimeout,
		ExpectContinueTimeout:  continueTimeout,
		ResponseHeaderTimeout:  headerTimeout,
		MaxResponseHeaderBytes: headerLimit,
		MaxIdleConns:           idleConnsTotal,
		MaxIdleConnsPerHost:    idleConnsPerHost,
		IdleConnTimeout:        idleTimeout,
		DisableCompression:     true, // limits count received bytes
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: silenceBeforePing, PingTimeout: pingTimeout},
	}
}

// MCP returns the client for calls to upstream servers. It follows at most 3
// redirects, only 307 and 308, which preserve method and body, and only to the
// same origin. Other redirects are returned as responses. A rejected address is
// an error that errors.As finds as *Blocked. The only timeout is the request's
// context.
func (c *Clients) MCP() *http.Client { return c.mcp }

// Catalog returns the client for reading public documents without credentials.
// It follows at most 3 redirects, also to other origins but never from https to
// http. Other redirects are returned as responses. Addresses are restricted as
// for MCP.
func (c *Clients) Catalog() *http.Client { return c.catalog }

// Close closes the idle connections. Connections in use become idle when their
// response bodies are closed, and are closed after the idle timeout.
func (c *Clients) Close() {
	c.transport.CloseIdleConnections()
	c.servers.close()
	c.fetching.CloseIdleConnections()
	c.telemetry.CloseIdleConnections()
}

// sameOriginRedirects is a http.Client's CheckRedirect.
func sameOriginRedirects(next *http.Request, via []*http.Request) error {
	status := next.Response.StatusCode
	if len(via) > redirectLimit || (status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect) || originOf(next.URL) != originOf(via[0].URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// publicRedirects is a http.Client's CheckRedirect.
func publicRedirects(next *http.Request, via []*http.Request) error {
	if len(via) > redirectLimit || via[len(via)-1].URL.Scheme == "https" && next.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}
