package egress

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"mcpgateway/services/certificates"
	"mcpgateway/services/secrets"
)

// maxServerTransports is the maximum number of servers with their own TLS settings
// and open connections. The one that was unused the longest is closed.
const maxServerTransports = 1024

// serverSessions is the number of resumable TLS sessions of one such server.
const serverSessions = 16

// ServerTLS are the TLS settings of one server as PEM texts. Empty authorities
// mean the system's. An empty certificate means none.
type ServerTLS struct {
	Authorities, Certificate string
	Key                      secrets.Value
}

// same reports whether the settings are equal. Equal strings are usually the same
// memory, so that this doesn't compare bytes.
func (s *ServerTLS) same(as *ServerTLS) bool {
	return s.Authorities == as.Authorities && s.Certificate == as.Certificate && s.Key.Reveal() == as.Key.Reveal()
}

// CertificateError is the error of TLS settings that can't be used. Its text is a
// clause without a part of a key.
type CertificateError struct{ text string }

// Error returns the text.
func (e *CertificateError) Error() string { return e.text }

// config returns the TLS configuration of the settings. It always verifies the
// server. The error is a *CertificateError.
func (s *ServerTLS) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ClientSessionCache: tls.NewLRUClientSessionCache(serverSessions)}
	if s.Authorities != "" {
		roots, err := certificates.Authorities(s.Authorities)
		if err != nil {
			return nil, &CertificateError{"the configured CA certificates " + err.Error()}
		}
		config.RootCAs = roots
	}
	if s.Certificate != "" {
		pair, err := certificates.Pair(s.Certificate, s.Key.Reveal())
		if err != nil {
			return nil, &CertificateError{"the configured pair of client certificate and key " + err.Error()}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// serverTransports holds the transports of servers with their own TLS settings.
type serverTransports struct {
	control control
	chosen  settings

	uses    atomic.Int64
	entries sync.Map   // server ID to *serverEntry
	mu      sync.Mutex // guards changes of entries
	count   int
}

// serverEntry is the transport of one server with the settings that it was made
// for.
type serverEntry struct {
	settings ServerTLS
	*transport
	used atomic.Int64 // number of the last use
}

// of returns the transport of a server. Other settings than at the last call
// close its connections.
func (s *serverTransports) of(id string, settings *ServerTLS) (*transport, error) {
	if e := s.get(id); e != nil && e.settings.same(settings) {
		e.used.Store(s.uses.Add(1))
		return e.transport, nil
	}
	config, err := settings.config()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.get(id); e != nil && e.settings.same(settings) { // added concurrently
		return e.transport, nil
	}
	s.remove(id)
	if s.count >= maxServerTransports {
		s.remove(s.oldest())
	}
	http2 := newTransport(s.control, &s.chosen)
	http2.TLSClientConfig = config.Clone()
	e := &serverEntry{settings: *settings, transport: &transport{
		idle: idleConns{tasks: s.chosen.tasks}, dialer: newDialer(s.control, &s.chosen), tls: config, http2: http2,
	}}
	e.used.Store(s.uses.Add(1))
	s.entries.Store(id, e)
	s.count++
	return e.transport, nil
}

func (s *serverTransports) get(id string) *serverEntry {
	if e, ok := s.entries.Load(id); ok {
		return e.(*serverEntry)
	}
	return nil
}

// remove closes the connections of a server, those in use after their request. The
// caller must hold mu.
func (s *serverTransports) remove(id string) {
	if e, ok := s.entries.LoadAndDelete(id); ok {
		s.count--
		e.(*serverEntry).retire()
	}
}

func (s *serverTransports) oldest() string {
	oldest, at := "", int64(0)
	for id, e := range s.entries.Range {
		if used := e.(*serverEntry).used.Load(); oldest == "" || used < at {
			oldest, at = id.(string), used
		}
	}
	return oldest
}

func (s *serverTransports) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.entries.Range {
		s.remove(id.(string))
	}
}

// Server returns a client like MCP for a server with its own TLS settings. source
// returns them for each request, so that they can change; its error is returned
// unchanged. They apply only to the origin of the address. Requests to other
// origins are those of MCP.
func (c *Clients) Server(id, address string, source func() (ServerTLS, error)) *http.Client {
	t := &serverTransport{clients: c, id: id, source: source}
	if u, err := url.Parse(address); err == nil {
		t.origin = originOf(u)
	}
	return &http.Client{Transport: t, CheckRedirect: sameOriginRedirects}
}

// Forget closes the connections of a server that no longer has its own TLS
// settings.
func (c *Clients) Forget(id string) {
	if c.servers.get(id) != nil {
		c.servers.mu.Lock()
		defer c.servers.mu.Unlock()
		c.servers.remove(id)
	}
}

// serverTransport sends requests to one server.
type serverTransport struct {
	clients *Clients
	id      string
	origin  origin
	source  func() (ServerTLS, error)
}

// RoundTrip implements http.RoundTripper.
func (t *serverTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || originOf(req.URL) != t.origin {
		return t.clients.transport.RoundTrip(req)
	}
	settings, err := t.source()
	if err != nil {
		closeBody(req)
		return nil, err
	}
	to, err := t.clients.servers.of(t.id, &settings)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	return to.RoundTrip(req)
}
