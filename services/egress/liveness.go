package egress

import (
	"crypto/tls"
	"net/http"
	"net/http/httptrace"
)

// liveTransport makes net/http look at a kept connection before a request is
// written to it. After a restart of the other end the connection is dead, but
// net/http may not have noticed yet, and a POST that was written cannot be
// repeated safely.
type liveTransport struct {
	*http.Transport
	trace *httptrace.ClientTrace
}

// maxSendAttempts is how often a request is sent anew because the kept
// connection it was to take had ended.
const maxSendAttempts = 3

func newLiveTransport(t *http.Transport) *liveTransport {
	return &liveTransport{Transport: t, trace: &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
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
			_ = conn.Close() // nothing was written yet, so net/http takes another one
		}
	}}}
}

// RoundTrip is of http.RoundTripper.
func (t *liveTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), t.trace))
	for attempt := 1; ; attempt++ {
		resp, err := t.Transport.RoundTrip(req)
		if err == nil || attempt == maxSendAttempts || !wasClosedBefore(err) || req.Body != nil && req.GetBody == nil {
			return resp, err
		}
		req = req.WithContext(req.Context())
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// wasClosedBefore reports that a kept connection ended before the request was
// written to it, so that the other end cannot have seen the request. net/http
// repeats it by itself only for methods other than POST, and has no exported
// name for this error.
func wasClosedBefore(err error) bool { return err.Error() == "http: server closed idle connection" }
