package pool

import (
	"context"

	"mcpgateway/services/background"
	"mcpgateway/services/upstream"
)

// Option configures a Pool.
type Option func(*Pool)

// WithTasks starts the goroutines of the pool with tasks.
func WithTasks(tasks *background.Tasks) Option { return func(p *Pool) { p.tasks = tasks } }

// WithInstance sets the name of this gateway in the Gateway-Hops header of
// every request.
func WithInstance(name string) Option { return func(p *Pool) { p.instance = name } }

// WithNamed sets a function that receives the notifications on shared streams
// that name what they belong to: elicitation/complete and the state of a task.
// named reports whether a client of the target's account has the elicitation or
// task, and must not block.
func WithNamed(named func(t *upstream.Target, method string, params []byte) bool) Option {
	return func(p *Pool) { p.completed = named }
}

// WithTurns sets a function that is called when a server's requests change from
// success to failure or back, or fail for another reason. err is the outcome, or
// nil. It must not block.
func WithTurns(turned func(serverID string, err error)) Option {
	return func(p *Pool) { p.turned = turned }
}

// start runs work in a goroutine that Close waits for. The context of work is
// cancelled by Close. start returns false if the pool is closed.
func (p *Pool) start(work func(context.Context)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.work.Go(p.tasks.Func("upstream pool", func() { work(p.life) }))
	return true
}
