package pool

import (
	"context"
	"strconv"
	"sync"
	"time"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// startReportInterval is the interval of the progress notifications of a call
// whose server starts.
const startReportInterval = time.Second

// timeoutOf returns the timeout of a request. The gateway's own requests wait for
// the start of the server in addition.
func timeoutOf(t *upstream.Target, f purpose) time.Duration {
	if f == ownWork {
		return t.CallTimeout() + t.StartTime()
	}
	return t.CallTimeout()
}

// Resume closes the breaker of a server that has started, so that its calls are
// sent again.
func (p *Pool) Resume(serverID string) {
	if s, ok := p.servers.Load(serverID); ok {
		s.(*server).breaker.Reset()
	}
}

// startReport sends progress notifications for a call whose server starts.
type startReport struct {
	token  []byte // raw
	notify func(method string, params []byte)

	mu       sync.Mutex // orders the notifications
	notified bool       // the server has sent one
}

// reportStart returns a request like r that sends what the server's start waits
// for as a progress notification each second, until the server sends one itself.
// The caller must call end when the call has ended. It returns r itself if the
// call has no progress token or nothing starts the server.
func (p *Pool) reportStart(ctx context.Context, t *upstream.Target, r *upstream.Request) (reporting *upstream.Request, end func()) {
	if t.Starting == nil || r.Notify == nil {
		return r, func() {}
	}
	s := &startReport{notify: r.Notify}
	if r.Parsed != nil {
		s.token = r.Parsed.Object("_meta").Get("progressToken")
	} else {
		s.token = wire.ProgressToken(r.Params)
	}
	if s.token == nil {
		return r, func() {}
	}
	copied := *r
	copied.Notify = s.forward
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	started := p.start(func(context.Context) {
		defer close(over)
		s.run(ctx, t)
	})
	if !started {
		cancel()
		return r, func() {}
	}
	return &copied, func() { cancel(); <-over }
}

// forward passes a notification of the server on.
func (s *startReport) forward(method string, params []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notified = true
	s.notify(method, params)
}

// run sends the notifications until ctx ends.
func (s *startReport) run(ctx context.Context, t *upstream.Target) {
	tick := time.NewTicker(startReportInterval)
	defer tick.Stop()
	for n := int64(1); ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if text := t.Starting(); text != "" && !s.send(n, text) {
			return
		}
	}
}

// send sends a notification and reports whether another may follow. Its progress
// is a millionth of n, because that of the server must be larger.
func (s *startReport) send(n int64, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notified {
		return false
	}
	params := append(append([]byte(`{"progressToken":`), s.token...), `,"progress":`...)
	params = strconv.AppendFloat(params, float64(n)/1e6, 'f', 6, 64)
	params = rawjson.AppendString(append(params, `,"message":`...), text)
	s.notify(upstream.Progress, append(params, '}'))
	return true
}
