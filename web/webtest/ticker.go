package webtest

import (
	"sync"
	"time"
)

// Ticker is a time that moves only when the test calls Advance.
type Ticker struct {
	mu  sync.Mutex
	now time.Time
}

// NewTicker returns a ticker at a time long after the zero one.
func NewTicker() *Ticker { return &Ticker{now: time.Unix(1_700_000_000, 0)} }

// Now returns the time.
func (c *Ticker) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the time on.
func (c *Ticker) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
