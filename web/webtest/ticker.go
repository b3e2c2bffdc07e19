package webtest

import (
	"sync"
	"time"
)

// Ticker is a clock that only moves when the test calls Advance.
type Ticker struct {
	mu  sync.Mutex
	now time.Time
}

// NewTicker returns a ticker set long after the zero time.
func NewTicker() *Ticker { return &Ticker{now: time.Unix(1_700_000_000, 0)} }

// Now returns the current time of the ticker.
func (c *Ticker) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
func (c *Ticker) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
