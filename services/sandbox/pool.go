package sandbox

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"mcpgateway/services/background"
)

// ErrClosed is returned by a pool that was closed.
var ErrClosed = errors.New("the runner of code is closed")

// Pool keeps a few children that are ready, from the first run on and until
// no run came for a while.
type Pool struct {
	command []string
	tasks   *background.Tasks

	mu     sync.Mutex
	idle   []*Child
	living map[*Child]struct{}
	coming int // warm children on their way
	closed bool
	empty  *time.Timer

	work sync.WaitGroup
	// starts runs functions on one thread for the life of the pool, because
	// the kernel ends children with the thread that started them. It is nil
	// before the first run.
	starts chan func()
}

// NewPool returns a pool of children that a command starts; an empty one is
// this program with WorkerCommand. tasks may be nil.
func NewPool(command []string, tasks *background.Tasks) *Pool {
	return &Pool{command: command, tasks: tasks, living: map[*Child]struct{}{}}
}

// Take returns a child that is ready, a warm one if there is one.
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

// start starts a child and returns when it is ready.
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

// Discard ends a child and forgets it once it is gone, without waiting.
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

// Refill starts warm children until there are enough, without waiting, and
// puts their end off.
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
	for len(p.idle)+p.coming < warmChildren {
		p.coming++
		p.work.Go(p.tasks.Func("warm code process", p.warm))
	}
}

func (p *Pool) warm() {
	c, err := p.start()
	p.mu.Lock()
	p.coming--
	keep := err == nil && !p.closed
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if err == nil && !keep {
		p.Discard(c)
	}
}

// Warm returns how many children wait for a run.
func (p *Pool) Warm() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// drain ends the warm children.
func (p *Pool) drain() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		p.Discard(c)
	}
}

// Close ends every child and returns when they are gone.
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
