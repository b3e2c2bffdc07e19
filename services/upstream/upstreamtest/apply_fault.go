package upstreamtest

import (
	"io"
	"net"
	"net/http"
	"net/url"
)

// breakHTTP applies a fault that replaces the whole HTTP response. It returns
// false if hit is nil or only modifies the response.
func (s *Server) breakHTTP(w http.ResponseWriter, r *http.Request, hit *Fault, id []byte) bool {
	if hit == nil {
		return false
	}
	switch hit.Kind {
	case Hang:
		select {
		case <-r.Context().Done():
		case <-s.life.Done():
		}
	case Status:
		copyHeader(w, hit.Header)
		w.WriteHeader(orElse(hit.Status, http.StatusInternalServerError))
		_, _ = io.WriteString(w, hit.Body) // the client may be gone
	case Redirect:
		w.Header().Set("Location", hit.URL)
		w.WriteHeader(orElse(hit.Status, http.StatusTemporaryRedirect))
	case Reset:
		cutConnection(w, true)
	case Disconnect:
		cutConnection(w, false)
	case Raw, InvalidJSON, HTML:
		body, contentType := hit.rawBody(id)
		copyHeader(w, hit.Header)
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(orElse(hit.Status, http.StatusOK))
		_, _ = io.WriteString(w, body) // the client may be gone
	default:
		return false
	}
	return true
}

// cutConnection closes the connection of w, with a TCP reset or normally. If w
// has no connection, it responds with HTTP 500.
func cutConnection(w http.ResponseWriter, reset bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "connection cannot be closed: "+err.Error(), http.StatusInternalServerError)
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0) // makes Close reset the connection
	}
	_ = conn.Close() // broken on purpose
}

func copyHeader(w http.ResponseWriter, h http.Header) {
	for name, values := range h {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
}

func orElse(n, instead int) int {
	if n == 0 {
		return instead
	}
	return n
}

// loopbackOrigin reports whether an origin is on the same machine. Only those
// are allowed (DNS rebinding protection, MCP transports, security warning).
func loopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
