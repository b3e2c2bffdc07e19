package load

import (
	"context"
	"sync"
	"time"
)

// Result is the measurement of a run.
type Result struct {
	Histogram
	Elapsed time.Duration
}

// PerSecond returns the number of calls per second.
func (r *Result) PerSecond() float64 { return float64(r.Count()) / r.Elapsed.Seconds() }

// OpenAll opens n clients. On error it closes them all.
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

// ClosedLoop runs a closed loop for d: each client sends its next call when it has
// the previous response, and makes at least one call. The first failed call ends
// the run with its error, because latencies of failed calls are meaningless.
func ClosedLoop(ctx context.Context, clients []*Client, d time.Duration) (*Result, error) {
	began := time.Now()
	deadline := began.Add(d)
	return run(ctx, began, clients, func(ctx context.Context, c *Client, h *Histogram) error {
		for at := time.Now(); ctx.Err() == nil; {
			if err := c.Call(); err != nil {
				return err
			}
			done := time.Now()
			h.Add(done.Sub(at))
			if at = done; !at.Before(deadline) {
				break
			}
		}
		return nil
	})
}

// OpenLoop runs an open loop for d: calls are due at a fixed rate per second,
// regardless of earlier responses. Latency counts from the time a call is due, so
// a stall adds to every call that it delays. The first failed call ends the run,
// as in Closed.
func OpenLoop(ctx context.Context, clients []*Client, rate float64, d time.Duration) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The buffer holds every call, so that the pacer never blocks.
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
				return nil //nolint:nilerr // the run was cancelled; run returns the cause
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

// pace sends the due time of each call when it is reached.
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

// run calls work concurrently for every client and merges the histograms.
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
