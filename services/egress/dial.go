package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync"
)

// Protocols of ALPN (RFC 7301).
const (
	protocolHTTP1 = "http/1.1"
	protocolHTTP2 = "h2"
)

// alertNoApplicationProtocol is the alert of a server that supports none of the
// offered protocols (RFC 7301, section 3.2).
const alertNoApplicationProtocol = tls.AlertError(120)

// errHTTP2Only is returned for origins that require HTTP/2.
var errHTTP2Only = errors.New("server supports only HTTP/2")

// dial returns a new connection. It returns errHTTP2Only if the server doesn't
// support HTTP/1.1.
func (t *transport) dial(ctx context.Context, to origin) (*conn, error) {
	if to.scheme == "http" {
		raw, err := t.dialer.DialContext(ctx, "tcp", to.address)
		if err != nil {
			return nil, err
		}
		return newConn(&t.idle, to, raw, raw), nil
	}
	raw, secure, err := t.dialTLS(ctx, to, protocolHTTP1)
	switch {
	case err != nil && refusesProtocol(err):
		t.protocols.set(to, true)
		return nil, errHTTP2Only
	case err != nil:
		return nil, err
	case secure.ConnectionState().NegotiatedProtocol == "" && t.prefersHTTP2(ctx, to):
		_ = raw.Close()
		return nil, errHTTP2Only
	}
	return newConn(&t.idle, to, raw, secure), nil
}

// dialTLS returns a TCP connection and TLS over it, offering one protocol.
func (t *transport) dialTLS(ctx context.Context, to origin, protocol string) (raw net.Conn, secure *tls.Conn, err error) {
	host, _, err := net.SplitHostPort(to.address)
	if err != nil {
		return nil, nil, err
	}
	if raw, err = t.dialer.DialContext(ctx, "tcp", to.address); err != nil {
		return nil, nil, err
	}
	config := t.tls.Clone()
	config.ServerName, config.NextProtos = host, []string{protocol}
	secure = tls.Client(raw, config)
	ctx, cancel := context.WithTimeout(ctx, tlsTimeout)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, nil, err
	}
	return raw, secure, nil
}

// prefersHTTP2 reports whether a server that didn't negotiate HTTP/1.1
// negotiates HTTP/2. Some HTTP/2-only servers accept the connection anyway and
// close it at the first request. This check detects them before a request is
// written.
func (t *transport) prefersHTTP2(ctx context.Context, to origin) bool {
	if t.protocols.isKnown(to) {
		return false
	}
	raw, secure, err := t.dialTLS(ctx, to, protocolHTTP2)
	if err != nil {
		return false
	}
	_ = raw.Close()
	agrees := secure.ConnectionState().NegotiatedProtocol == protocolHTTP2
	t.protocols.set(to, agrees)
	return agrees
}

// refusesProtocol reports whether a handshake failed because the server
// supports none of the offered protocols. The alert's type is not exported.
func refusesProtocol(err error) bool {
	var remote *net.OpError
	return errors.As(err, &remote) && remote.Op == "remote error" && remote.Err.Error() == alertNoApplicationProtocol.Error()
}

// isCertificateAlert reports whether the server rejected the gateway's client
// certificate, or its absence (RFC 8446, section 6.2). The alert's type is not
// exported.
func isCertificateAlert(err error) bool {
	var remote *net.OpError
	return errors.As(err, &remote) && remote.Op == "remote error" && strings.Contains(remote.Err.Error(), "certificate")
}

// isHandshakeError reports whether TLS failed for another reason. Servers with TLS
// 1.2 reject a missing client certificate without a specific alert (RFC 5246,
// section 7.4.6).
func isHandshakeError(err error) bool {
	var remote *net.OpError
	if errors.As(err, &remote) {
		return remote.Op == "remote error"
	}
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return strings.HasPrefix(err.Error(), "tls: ")
}

// IsCertificateError reports whether a request failed because of TLS: the
// certificate of the server or the gateway's own, TLS settings that can't be used,
// or a handshake that failed for another reason. The text is for administrators.
func IsCertificateError(err error) (why, text string, ok bool) {
	var unusable *CertificateError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unusable):
		return "its certificate settings are invalid", unusable.Error(), true
	case errors.As(err, &untrusted):
		return "the certificate is not trusted", untrusted.Error(), true
	case isCertificateAlert(err):
		return "the server rejected the gateway's client certificate", err.Error(), true
	case err != nil && isHandshakeError(err):
		return "the TLS handshake failed, perhaps because the server requires a client certificate", err.Error(), true
	}
	return "", "", false
}

// maxProtocols is the maximum number of cached origins.
const maxProtocols = 1024

// protocols caches origins that didn't negotiate HTTP/1.1 and whether they
// support HTTP/2. The zero value is ready to use. It is safe for concurrent
// use.
type protocols struct {
	mu    sync.RWMutex
	http2 map[origin]bool
}

func (p *protocols) isHTTP2(to origin) bool {
	if to.scheme == "http" {
		return false
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.http2[to]
}

func (p *protocols) isKnown(to origin) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	_, known := p.http2[to]
	return known
}

func (p *protocols) set(to origin, http2 bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.http2 == nil || len(p.http2) >= maxProtocols {
		p.http2 = map[origin]bool{}
	}
	p.http2[to] = http2
}
