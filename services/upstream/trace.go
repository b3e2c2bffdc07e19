package upstream

import "net/http"

// trace makes a call carry its client's trace on (W3C Trace Context, section
// 3). What the operator configured under these names would be another trace.
func (c Client) trace(h http.Header) {
	if c.TraceParent == "" {
		return
	}
	h[headerTrace] = []string{c.TraceParent}
	delete(h, headerState)
	if c.TraceState != "" {
		h[headerState] = []string{c.TraceState}
	}
}
