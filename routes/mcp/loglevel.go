package mcp

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"

	"mcpgateway/services/fault"
	"mcpgateway/services/gateway"
	"mcpgateway/services/rawjson"
)

// logLevels remember the level that logging/setLevel gave a session. The
// session that was heard of longest ago is forgotten first; it then gets what
// a session gets that never set a level.
type logLevels struct {
	any    atomic.Bool // whether there ever was one: most clients never set a level
	mu     sync.Mutex
	order  *list.List // of *logLevel, the latest first
	levels map[string]*list.Element
}

type logLevel struct{ session, level string }

func newLogLevels() *logLevels {
	return &logLevels{order: list.New(), levels: map[string]*list.Element{}}
}

func (l *logLevels) of(session string) string {
	if !l.any.Load() {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.levels[session]
	if e == nil {
		return ""
	}
	l.order.MoveToFront(e)
	return e.Value.(*logLevel).level
}

func (l *logLevels) set(session, level string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.levels[session]; e != nil {
		e.Value.(*logLevel).level = level
		l.order.MoveToFront(e)
		return
	}
	l.any.Store(true)
	l.levels[session] = l.order.PushFront(&logLevel{session, level})
	if l.order.Len() > maxLogLevels {
		l.remove(l.order.Back())
	}
}

func (l *logLevels) forget(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.levels[session]; e != nil {
		l.remove(e)
	}
}

func (l *logLevels) remove(e *list.Element) {
	delete(l.levels, l.order.Remove(e).(*logLevel).session)
}

// setLevel answers logging/setLevel (MCP 2025-11-25, "Logging"). Without a
// session there is nothing to keep the level for.
func (e *Endpoint) setLevel(client *gateway.Client, params []byte) ([]byte, error) {
	o, err := rawjson.ParseObject(params, rawjson.Strict)
	if err != nil {
		return nil, fault.Invalid("logging/setLevel needs params with a level")
	}
	level, _ := o.String("level")
	if !slices.Contains(gateway.LogLevels(), level) {
		return nil, fault.Invalid("level must be one of %v", gateway.LogLevels())
	}
	if client.SessionID != "" {
		e.levels.set(client.SessionID, level)
	}
	return []byte("{}"), nil
}
