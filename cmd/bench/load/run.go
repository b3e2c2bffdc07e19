package load

import (
	"context"
	"sync"
	"time"
)

// Result is what a run measured.
type Result struct {
	Histogram
	Elapsed time.Duration
}

// PerSecond returns the calls per second.
func (r *Result) PerSecond() float64 { return float64(r.Count()) / r.Elapsed.Seconds() }

// OpenAll opens n clients; on an error none stays open.
func OpenAll(ctx context.Context, e Endpoint, n int) ([]*Client, error) {
	clients := make([]*Client, 0, n)
	for i := range n {
		c, err := Open(ctx, e, i)
		if err != nil {
			CloseAll(clients)
			return nil, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

// CloseAll closes clients.
func CloseAll(clients []*Client) {
	for _, c := range clients {
		c.Close()
	}
}

// Closed lets every client call for d, once at least, its next call as soon as
// the last is answered. The first failed call ends the run with its error: a run with
// failures says nothing about speed.
func Closed(ctx context.Context, clients []*Client, d time.Duration) (*Result, error) {
	began := time.Now()
	deadline := began.Add(d)
	return run(ctx, began, clients, func(ctx context.Context, c *Client, h *Histogram) error {
		for at := time.Now(); ctx.Err() == nil; {
			if err := c.Call(); err != nil {
				return err
			}
			answered := time.Now()
			h.Add(answered.Sub(at))
			if at = answered; !at.Before(deadline) {
				break
			}
		}
		return nil
	})
}

// Due lets calls fall due at a steady rate per second for d, whether or not
// earlier ones were answered, and the clients make them. A duration counts
// from the time that its call was due, so that a stall shows in every call
// that it delayed. A failed call ends the run as in Closed.
func Due(ctx context.Context, clients []*Client, rate float64, d time.Duration) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Room for every call: the one who says when must never wait.
	due := make(chan time.Time, int(rate*d.Seconds())+1)
	began := time.Now()
	var pacer sync.WaitGroup
	pacer.Go(func() {
		defer close(due)
		pace(ctx, due, began, rate, d)
	})
	result, err := run(ctx, began, clients, func(ctx context.Context, c *Client, h *Histogram) error {
		for at := range due {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the time is over, which is how it ends
			}
			if err := c.Call(); err != nil {
				return err
			}
			h.Add(time.Since(at))
		}
		return nil
	})
	cancel()
	pacer.Wait()
	return result, err
}

// pace sends every moment at which a call is due, when it has come.
func pace(ctx context.Context, due chan<- time.Time, began time.Time, rate float64, d time.Duration) {
	fineTimer()
	step := float64(time.Second) / rate
	for i := 0; ctx.Err() == nil; i++ {
		after := time.Duration(float64(i) * step)
		if after >= d {
			return
		}
		at := began.Add(after)
		sleepUntil(at)
		due <- at
	}
}

// run lets work use every client at once and merges what it counted.
func run(ctx context.Context, began time.Time, clients []*Client, work func(context.Context, *Client, *Histogram) error) (*Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	counted := make([]Histogram, len(clients))
	var working sync.WaitGroup
	for i, c := range clients {
		working.Go(func() {
			if err := work(ctx, c, &counted[i]); err != nil {
				cancel(err)
			}
		})
	}
	working.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	r := &Result{Elapsed: time.Since(began)}
	for i := range counted {
		r.Merge(&counted[i])
	}
	return r, nil
}
