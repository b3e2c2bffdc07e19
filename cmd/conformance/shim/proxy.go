package shim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Maximum size of the bodies read into memory, in bytes.
const (
	maxRequestBytes = 16 << 20
	maxAnswerBytes  = 64 << 20
)

// Options configures a proxy.
type Options struct {
	Target string      // the gateway's MCP endpoint, an absolute URL
	Alias  string      // of the server whose bare names the suite uses
	Header http.Header // added to each request, such as Authorization
}

// Proxy forwards HTTP requests to one MCP endpoint and renames tools and prompts.
// Everything else is forwarded unchanged: the rest of the bodies, headers, status
// and the time of each flush. When one side closes the connection, so does the
// proxy on the other side. The caller must call Close.
type Proxy struct {
	names  Names
	target *url.URL
	header http.Header
	client *http.Client
}

// New returns a proxy. It returns an error for an invalid target or alias.
func New(o Options) (*Proxy, error) {
	names, err := NewNames(o.Alias)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(o.Target)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, fmt.Errorf("invalid target %q: want an http or https URL with a host", o.Target)
	}
	return &Proxy{
		names: names, target: target, header: o.Header,
		client: &http.Client{
			Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Close closes idle connections to the gateway.
func (p *Proxy) Close() { p.client.CloseIdleConnections() }

// perHop lists headers that apply to one connection or are recomputed (RFC 9110
// section 7.6.1). Accept-Encoding is dropped so that bodies are not compressed.
var perHop = [...]string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Accept-Encoding",
}

// ServeHTTP forwards a request with any path to the endpoint.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := p.forward(r, body)
	if err != nil {
		if r.Context().Err() == nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
		return
	}
	defer answer.Body.Close()
	for name, values := range answer.Header {
		if !slices.Contains(perHop[:], name) {
			w.Header()[name] = values
		}
	}
	p.reply(w, answer)
}

// forward sends the renamed request to the gateway.
func (p *Proxy) forward(r *http.Request, body []byte) (*http.Response, error) {
	if r.Method == http.MethodPost {
		body = p.names.Request(body)
	}
	target := *p.target
	if r.URL.RawQuery != "" {
		target.RawQuery = r.URL.RawQuery
	}
	out, err := http.NewRequestWithContext(r.Context(), r.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = r.Header.Clone()
	for _, name := range perHop {
		out.Header.Del(name)
	}
	// Replace the proxy's own address with the gateway's. Keep any other Host or
	// Origin: with it, the suite tests protection from DNS rebinding.
	if !isOwn(r, r.Host) {
		out.Host = r.Host
	}
	if origin, err := url.Parse(r.Header.Get("Origin")); err == nil && origin.Host != "" && isOwn(r, origin.Host) {
		out.Header.Set("Origin", p.target.Scheme+"://"+p.target.Host)
	}
	for name, values := range p.header {
		out.Header[name] = values
	}
	p.names.Header(out.Header)
	return p.client.Do(out)
}

// isOwn reports whether hostport is an address of the listener that accepted r.
func isOwn(r *http.Request, hostport string) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	_, own, _ := net.SplitHostPort(local.String())
	host, port, err := net.SplitHostPort(hostport)
	return err == nil && port == own && (host == "localhost" || host == "127.0.0.1" || host == "::1")
}

// reply forwards the gateway's response. If the response is truncated, reply
// closes the client's connection, so that it doesn't look complete.
func (p *Proxy) reply(w http.ResponseWriter, answer *http.Response) {
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	var err error
	switch strings.TrimSpace(kind) {
	case "text/event-stream":
		w.WriteHeader(answer.StatusCode)
		if err = http.NewResponseController(w).Flush(); err == nil {
			err = p.names.copyEvents(w, answer.Body)
		}
	case "application/json":
		var body []byte
		body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes+1))
		if err == nil && len(body) > maxAnswerBytes {
			err = errors.New("response too large")
		}
		if err == nil {
			w.WriteHeader(answer.StatusCode)
			_, err = w.Write(p.names.Response(body))
		}
	default:
		w.WriteHeader(answer.StatusCode)
		_, err = io.Copy(w, answer.Body)
	}
	if err != nil {
		cut(w)
	}
}

// cut closes the connection in the middle of a response.
func cut(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}
