package egress

import (
	"sync"
	"time"

	"mcpgateway/services/background"
)

// idleConns contains the idle connections to all origins. The zero value is
// ready to use. It is safe for concurrent use.
type idleConns struct {
	tasks *background.Tasks

	mu    sync.Mutex
	conns map[origin][]*conn // most recent last
	count int
	done  bool        // accepts no more connections
	timer *time.Timer // running while there are connections
}

// take removes and returns the most recently idle connection, or nil.
func (i *idleConns) take(to origin) *conn {
	i.mu.Lock()
	defer i.mu.Unlock()
	conns := i.conns[to]
	last := len(conns) - 1
	if last < 0 {
		return nil
	}
	c := conns[last]
	conns[last] = nil
	i.conns[to] = conns[:last]
	i.count--
	c.reused = true
	return c
}

// put adds a connection. It returns false if there are too many.
func (i *idleConns) put(c *conn) bool {
	c.idleSince = time.Now()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.done || i.count >= idleConnsTotal || len(i.conns[c.origin]) >= idleConnsPerHost {
		return false
	}
	if i.conns == nil {
		i.conns = map[origin][]*conn{}
	}
	i.conns[c.origin] = append(i.conns[c.origin], c)
	i.count++
	if i.timer == nil {
		i.timer = time.AfterFunc(idleTimeout, i.tasks.Func("idle connections", i.expire))
	}
	return true
}

// expire closes connections past the idle timeout.
func (i *idleConns) expire() {
	i.mu.Lock()
	defer i.mu.Unlock()
	now, next := time.Now(), idleTimeout
	for to, conns := range i.conns {
		old := 0
		for old < len(conns) && now.Sub(conns[old].idleSince) >= idleTimeout {
			conns[old].close()
			old++
		}
		i.count -= old
		if old == len(conns) {
			delete(i.conns, to)
			continue
		}
		i.conns[to] = append([]*conn(nil), conns[old:]...)
		next = min(next, idleTimeout-now.Sub(conns[old].idleSince))
	}
	if len(i.conns) == 0 {
		i.timer = nil
		return
	}
	i.timer.Reset(max(next, time.Second))
}

// close closes all connections.
func (i *idleConns) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, conns := range i.conns {
		for _, c := range conns {
			c.close()
		}
	}
	i.conns, i.count = nil, 0
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}
