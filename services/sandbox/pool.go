package sandbox

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"mcpgateway/services/background"
)

// ErrClosed is returned by a closed pool.
var ErrClosed = errors.New("code runner is closed")

// Pool maintains a few ready children, from the first run until it has been
// idle for a while.
type Pool struct {
	command []string
	tasks   *background.Tasks

	mu       sync.Mutex
	idle     []*Child
	living   map[*Child]struct{}
	starting int // warm children being started
	closed   bool
	empty    *time.Timer

	work sync.WaitGroup
	// starts runs functions on one thread for the lifetime of the pool, because
	// the kernel kills children when the thread that started them exits. It is
	// nil before the first run.
	starts chan func()
}

// NewPool returns a pool of children started with command. An empty command
// means this program with WorkerCommand. tasks may be nil.
func NewPool(command []string, tasks *background.Tasks) *Pool {
	return &Pool{command: command, tasks: tasks, living: map[*Child]struct{}{}}
}

// Take returns a ready child, preferably a warm one.
func (p *Pool) Take(ctx context.Context) (*Child, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	for len(p.idle) > 0 {
		c := p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if c.alive() {
			p.mu.Unlock()
			return c, nil
		}
	}
	p.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.start()
}

// start starts a child and waits until it is ready.
func (p *Pool) start() (*Child, error) {
	type made struct {
		child *Child
		err   error
	}
	result := make(chan made, 1)
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	if p.starts == nil {
		p.starts = make(chan func())
		starts := p.starts
		p.tasks.Go("starts of code processes", func() { serveStarts(starts) })
	}
	p.work.Add(1)
	starts := p.starts
	p.mu.Unlock()
	defer p.work.Done()
	starts <- func() {
		var m made
		m.err = p.tasks.Try("start of a code process", func() (err error) { m.child, err = spawn(p.command, p.tasks); return err })
		result <- m
	}
	m := <-result
	if m.err != nil {
		return nil, m.err
	}
	p.mu.Lock()
	p.living[m.child] = struct{}{}
	p.mu.Unlock()
	err := m.child.awaitReady()
	p.mu.Lock()
	if p.closed && err == nil {
		err = ErrClosed
	}
	p.mu.Unlock()
	if err != nil {
		p.Discard(m.child)
		return nil, err
	}
	return m.child, nil
}

func serveStarts(starts <-chan func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for start := range starts {
		start()
	}
}

// Discard kills a child and removes it once it has exited. It doesn't wait.
func (p *Pool) Discard(c *Child) {
	c.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.living[c]; !known {
		return
	}
	delete(p.living, c)
	p.work.Go(p.tasks.Func("end of a code process", func() { <-c.gone }))
}

// Refill starts warm children up to their number without waiting, and restarts
// the idle timer.
func (p *Pool) Refill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if p.empty == nil {
		p.empty = time.AfterFunc(idleTimeout, p.tasks.Func("idle code processes", p.drain))
	} else {
		p.empty.Reset(idleTimeout)
	}
	for len(p.idle)+p.starting < warmChildren {
		p.starting++
		p.work.Go(p.tasks.Func("warm code process", p.warm))
	}
}

func (p *Pool) warm() {
	c, err := p.start()
	p.mu.Lock()
	p.starting--
	keep := err == nil && !p.closed
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if err == nil && !keep {
		p.Discard(c)
	}
}

// Warm returns the number of children waiting for a run.
func (p *Pool) Warm() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// drain kills the warm children.
func (p *Pool) drain() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		p.Discard(c)
	}
}

// Close kills every child and waits until they have exited.
func (p *Pool) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	if p.empty != nil {
		p.empty.Stop()
	}
	var all []*Child
	for c := range p.living {
		all = append(all, c)
	}
	p.mu.Unlock()
	for _, c := range all {
		p.Discard(c)
	}
	p.work.Wait()
	if p.starts != nil {
		close(p.starts)
	}
}
