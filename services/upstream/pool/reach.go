package pool

import (
	"context"
	"errors"
	"io"
	"net/http"

	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// maxReachBody is the number of bytes that Reach reads of a response, so that
// its connection can be used again.
const maxReachBody = 4 << 10

// Reach is the result of a reachability check.
type Reach uint8

// The results of a reachability check.
const (
	ReachUnknown Reach = iota // no response in time, or the check was cancelled
	Reachable
	Unreachable
)

// Reach checks whether a server responds to HTTP requests, until ctx is
// cancelled. It sends OPTIONS without credentials. Every response counts, except
// the statuses of a proxy whose server is down (502, 503, 504). Reach does not
// change the health of the server.
func (p *Pool) Reach(ctx context.Context, t *upstream.Target) Reach {
	address := t.URL
	if t.Address != nil {
		var err error
		if address, err = t.Address(); err != nil {
			return ReachUnknown
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodOptions, address, nil)
	if err != nil {
		return ReachUnknown
	}
	request.Header = http.Header{"Accept": {wire.AcceptAnswers}, "User-Agent": {p.userAgent}}
	response, err := p.clientOf(t).Do(request)
	if response == nil {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return ReachUnknown
		}
		return Unreachable
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, maxReachBody)
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return Unreachable
	}
	return Reachable
}
