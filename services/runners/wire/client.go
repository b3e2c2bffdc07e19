package wire

import "net/http"

// HTTPClient returns a client that sends its requests with t and follows no
// redirect. It must only be used for connections to runners.
func HTTPClient(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
