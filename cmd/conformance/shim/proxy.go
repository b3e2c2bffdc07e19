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

// Bounds of what is held in memory to be renamed, in bytes.
const (
	maxRequestBytes = 16 << 20
	maxAnswerBytes  = 64 << 20
)

// Options describe a proxy.
type Options struct {
	Target string      // the gateway's MCP endpoint, an absolute URL
	Alias  string      // of the server whose bare names the suite knows
	Header http.Header // added to each request, such as Authorization
}

// Proxy passes HTTP requests to one MCP endpoint and renames tools and prompts
// on the way. Everything else passes: other bytes of the bodies, headers,
// status and the moment of each flush; when one side leaves, so does the
// other. Close it when it is no longer used.
type Proxy struct {
	names  Names
	target *url.URL
	header http.Header
	client *http.Client
}

// New returns a proxy, or an error that says which option is unusable.
func New(o Options) (*Proxy, error) {
	names, err := NewNames(o.Alias)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(o.Target)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return nil, fmt.Errorf("the target must be an http URL with a host, not %q", o.Target)
	}
	return &Proxy{
		names: names, target: target, header: o.Header,
		client: &http.Client{
			Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Close closes the connections to the gateway that are not in use.
func (p *Proxy) Close() { p.client.CloseIdleConnections() }

// perHop are headers that belong to one connection or are computed anew (RFC
// 9110 section 7.6.1). Bodies are not compressed, so that they can be read.
var perHop = [...]string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Accept-Encoding",
}

// ServeHTTP passes a request to the endpoint, whatever its path.
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
	// The proxy's own address stands for the gateway's. A foreign Host or
	// Origin is a test of DNS rebinding, so the gateway must see it.
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

// isOwn reports whether hostport is how a client on this machine names the
// listener that r came in by.
func isOwn(r *http.Request, hostport string) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	_, own, _ := net.SplitHostPort(local.String())
	host, port, err := net.SplitHostPort(hostport)
	return err == nil && port == own && (host == "localhost" || host == "127.0.0.1" || host == "::1")
}

// reply passes the gateway's answer on. One that breaks off breaks off here
// too, or it would look complete.
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
			err = errors.New("the answer is too large")
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

// cut closes the connection of an answer in the middle.
func cut(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}
