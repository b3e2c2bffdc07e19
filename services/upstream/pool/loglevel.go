package pool

import (
	"context"
	"slices"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// sessionLevel is the level of log messages that an upstream session was set to
// (MCP 2025-03-26, "Logging"). It ends with the session: the next one starts
// without a level.
type sessionLevel struct {
	sem   chan struct{} // held while the level is read or set
	value string        // guarded by sem; empty while none is set
}

func newSessionLevel() sessionLevel { return sessionLevel{sem: make(chan struct{}, 1)} }

// setLevel sets the level that a call needs, before the call. A session of
// several clients gets the least severe level of all, a client's own session
// its exact one. A failure costs log messages and not the call; the level then
// counts as not set, so that the next call tries again.
func (ss *session) setLevel(ctx context.Context, p *Pool, t *upstream.Target, r *upstream.Request) {
	if r.LogLevel == "" || ss.stateless || !ss.about.Has("logging") {
		return
	}
	select {
	case ss.level.sem <- struct{}{}:
		defer func() { <-ss.level.sem }()
	case <-ctx.Done():
		return
	}
	if !ss.needsLevel(r.LogLevel) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxLevelTime)
	defer cancel()
	answer, err := ss.call(ctx, p, t, &upstream.Request{
		Method: "logging/setLevel", Params: append(rawjson.AppendString([]byte(`{"level":`), r.LogLevel), '}'), Client: r.Client,
	}, true)
	if err == nil && answer.RPCError == nil {
		ss.level.value = r.LogLevel
	}
}

// needsLevel reports whether the session must be set to another level for a
// client with this one. The caller holds the semaphore of the level.
func (ss *session) needsLevel(level string) bool {
	if ss.callers.Exclusive || ss.level.value == "" {
		return ss.level.value != level
	}
	levels := upstream.LogLevels()
	return slices.Index(levels, level) < slices.Index(levels, ss.level.value)
}
