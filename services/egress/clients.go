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

// Limits of every outbound connection. None bounds a whole call: the context
// of the request does.
const (
	dialTimeout       = 10 * time.Second
	keepAlive         = 30 * time.Second
	tlsTimeout        = 10 * time.Second
	continueTimeout   = time.Second
	headerTimeout     = 15 * time.Minute // a tool may compute for long before it answers
	headerLimit       = 64 << 10         // bytes of an answer's header
	idleTimeout       = 90 * time.Second
	idleConnsTotal    = 8192             // to all hosts
	idleConnsPerHost  = 4096             // as many calls as one server may have at once
	resumableSessions = 512              // of TLS, over all hosts
	silenceBeforePing = 30 * time.Second // HTTP/2
	pingTimeout       = 15 * time.Second // HTTP/2
	redirectLimit     = 3
)

// settings are what options vary.
type settings struct {
	resolver   *net.Resolver
	roots      *x509.CertPool
	fetchAllow []netip.Prefix
	fetchPorts []uint16
	tasks      *background.Tasks
}

// Option varies how outbound connections are made.
type Option func(*settings)

// WithRootCAs makes the clients trust roots instead of the system's
// certificate authorities.
func WithRootCAs(roots *x509.CertPool) Option { return func(s *settings) { s.roots = roots } }

// WithFetchTo lets the client of Fetch reach further addresses and ports than
// public ones on 80 and 443. What is never allowed stays so.
func WithFetchTo(allow []netip.Prefix, ports ...uint16) Option {
	return func(s *settings) {
		s.fetchAllow = append(s.fetchAllow, allow...)
		s.fetchPorts = append(s.fetchPorts, ports...)
	}
}

// WithTasks makes tasks start the goroutines of the clients.
func WithTasks(tasks *background.Tasks) Option { return func(s *settings) { s.tasks = tasks } }

// Clients makes the outbound HTTP clients. All but that of Fetch share one pool
// of connections and the guard's rules. They ignore proxy settings of the
// environment, because a proxy would connect where the guard cannot see.
type Clients struct {
	transport *transport
	mcp       *http.Client
	catalog   *http.Client
	fetching  *http.Transport
	fetch     *http.Client
	telemetry *http.Client
}

// NewClients returns the clients that connect where guard allows.
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
		mcp:       &http.Client{Transport: transport, CheckRedirect: sameOriginRedirects},
		catalog:   &http.Client{Transport: transport, CheckRedirect: publicRedirects},
		fetching:  fetching,
		fetch:     &http.Client{Transport: fetching, CheckRedirect: fetchRedirects},
		telemetry: newTelemetryClient(&chosen),
	}
}

// control decides about a connection that is about to be made (net.Dialer).
type control = func(network, address string, c syscall.RawConn) error

// newDialer returns a dialer of the connections that control allows.
func newDialer(control control, chosen *settings) *net.Dialer {
	return &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive, Control: control, Resolver: chosen.resolver}
}

// newTransport returns a transport of net/http for the connections that control
// allows.
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
		DisableCompression:     true, // limits count the bytes that arrive
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: silenceBeforePing, PingTimeout: pingTimeout},
	}
}

// MCP returns the client for calls to upstream servers. It follows at most
// three redirects, only 307 and 308, which keep method and body, and only to
// the origin that was asked; any other redirect is returned as the response it
// is. A refused address is an error that errors.As finds as *Blocked. It has
// no time-out but the request's context.
func (c *Clients) MCP() *http.Client { return c.mcp }

// Catalog returns the client for reading public documents without
// credentials. It follows at most three redirects, also to other origins and
// never from https to http; any other redirect is returned as the response it
// is. Addresses are refused as they are for MCP.
func (c *Clients) Catalog() *http.Client { return c.catalog }

// Close closes the idle connections. Those in use close when their response
// bodies do and are then kept no longer than the idle time-out.
func (c *Clients) Close() {
	c.transport.CloseIdleConnections()
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
