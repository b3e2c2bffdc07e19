package upstream

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
)

// liveness returns hooks that look at a kept connection before a request is
// written to it. After a restart of the upstream the connection is dead, but
// net/http may not have noticed yet, and a POST that was written cannot be
// repeated safely. A connection that is closed here, before anything was
// written, makes net/http take another one.
func liveness() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			return
		}
		conn := info.Conn
		if t, ok := conn.(*tls.Conn); ok {
			if t.ConnectionState().NegotiatedProtocol == "h2" {
				return // many requests share it, and bytes may come at any time
			}
			conn = t.NetConn()
		}
		if isClosedByPeer(conn) {
			_ = conn.Close()
		}
	}}
}

// wasClosedBefore reports that a kept connection ended before the request was
// written to it, so that the upstream cannot have seen the request. net/http
// repeats it by itself only for methods other than POST, and has no exported
// name for this error.
func wasClosedBefore(err error) bool {
	var u *url.Error
	return errors.As(err, &u) && u.Err.Error() == "http: server closed idle connection"
}

const headerRepeatable = "X-Idempotency-Key"

// markRepeatable lets net/http repeat a request that only reads when its
// connection breaks before the answer begins. The header has no value and is
// not sent (net/http, Transport).
func markRepeatable(h http.Header, method string) {
	switch method {
	case "server/discover", "ping", "resources/read", "prompts/get", "completion/complete":
	default:
		if !strings.HasSuffix(method, "/list") {
			return
		}
	}
	if _, configured := h[headerRepeatable]; !configured {
		h[headerRepeatable] = nil
	}
}
