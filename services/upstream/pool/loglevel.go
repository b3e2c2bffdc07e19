package pool

import (
	"context"
	"slices"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
)

// sessionLevel is the log level of an upstream session (MCP 2025-03-26,
// "Logging"). A new session has none.
type sessionLevel struct {
	sem   chan struct{} // acquired to read or set the level
	value string        // guarded by sem; empty while none is set
}

func newSessionLevel() sessionLevel { return sessionLevel{sem: make(chan struct{}, 1)} }

// setLevel sets the level that a call requires, before the call. A shared
// session gets the least severe level of its clients, a client's own session
// exactly the requested one. On failure the call continues without its log
// messages and the level counts as unset, so that the next call retries.
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
	ctx, cancel := context.WithTimeout(ctx, maxLevelTime+t.StartTime())
	defer cancel()
	answer, err := ss.call(ctx, p, t, &upstream.Request{
		Method: "logging/setLevel", Params: append(rawjson.AppendString([]byte(`{"level":`), r.LogLevel), '}'), Client: r.Client,
	}, true)
	ss.level.value = "" // unknown after a failure, because the upstream may have set it
	if err == nil && answer.RPCError == nil {
		ss.level.value = r.LogLevel
	}
}

// needsLevel reports whether the session's level must change for a client that
// requests level. The caller must hold level.sem.
func (ss *session) needsLevel(level string) bool {
	if ss.callers.Exclusive || ss.level.value == "" {
		return ss.level.value != level
	}
	levels := upstream.LogLevels()
	return slices.Index(levels, level) < slices.Index(levels, ss.level.value)
}
