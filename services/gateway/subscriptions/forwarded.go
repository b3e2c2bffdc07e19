package subscriptions

import (
	"context"
	"net/http"
)

// forwardedKey is the key of the headers in a context.
type forwardedKey struct{}

// WithForwarded returns a context whose subscriptions are made with headers of the
// client's request that servers can receive.
func WithForwarded(ctx context.Context, headers http.Header) context.Context {
	if len(headers) == 0 {
		return ctx
	}
	return context.WithValue(ctx, forwardedKey{}, headers)
}

func forwardedOf(ctx context.Context) http.Header {
	headers, _ := ctx.Value(forwardedKey{}).(http.Header)
	return headers
}
