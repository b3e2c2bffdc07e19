//go:build ha

package main_test

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// cutter is a TCP proxy that gives each connection to the next backend, and can cut
// all of them.
type cutter struct {
	url   string
	hosts func() []string // current backends

	mu    sync.Mutex
	turn  int
	conns map[net.Conn]bool
}

// newCutter returns a proxy for the backends that hosts returns, each HOST:PORT. It
// runs until the end of the test.
func newCutter(t *testing.T, hosts func() []string) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{url: "http://" + listener.Addr().String(), hosts: hosts, conns: map[net.Conn]bool{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { c.pass(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.cut()
		running.Wait()
	})
	return c
}

// pass copies a connection in both directions until it ends. Without a backend, it
// closes it.
func (c *cutter) pass(from net.Conn) {
	defer from.Close()
	hosts := c.hosts()
	if len(hosts) == 0 {
		return
	}
	c.mu.Lock()
	host := hosts[c.turn%len(hosts)]
	c.turn++
	c.mu.Unlock()
	to, err := net.Dial("tcp", host)
	if err != nil {
		return
	}
	defer to.Close()
	c.mu.Lock()
	c.conns[from], c.conns[to] = true, true
	c.mu.Unlock()
	var copying sync.WaitGroup
	for a, b := range map[net.Conn]net.Conn{from: to, to: from} {
		copying.Go(func() {
			_, _ = io.Copy(a, b)
			_ = a.Close()
			_ = b.Close()
		})
	}
	copying.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, from)
	delete(c.conns, to)
}

// cut closes all connections and returns the time at which it began.
func (c *cutter) cut() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := time.Now()
	for conn := range c.conns {
		_ = conn.Close()
	}
	return began
}

// cutEvery cuts all connections again and again, at intervals that differ by up to
// 10 %. stop ends that and returns when it did so.
func (c *cutter) cutEvery(interval time.Duration) (stop func() []time.Time) {
	ended := make(chan struct{})
	var cuts []time.Time
	var cutting sync.WaitGroup
	cutting.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(time.Duration(float64(interval) * (0.9 + 0.2*rand.Float64()))):
				cuts = append(cuts, c.cut())
			}
		}
	})
	return func() []time.Time {
		close(ended)
		cutting.Wait()
		return cuts
	}
}
