package pool

import (
	"context"

	"mcpgateway/services/background"
)

// Option varies how a pool works.
type Option func(*Pool)

// WithTasks makes tasks start the goroutines of the pool.
func WithTasks(tasks *background.Tasks) Option { return func(p *Pool) { p.tasks = tasks } }

// WithInstance sets the name of this gateway in the Gateway-Hops header of
// every request.
func WithInstance(name string) Option { return func(p *Pool) { p.instance = name } }

// WithElicitations makes the pool call completed with the params of each
// elicitation/complete that arrives on a shared stream. completed reports
// whether a client was given that elicitation, and must not block.
func WithElicitations(completed func(serverID string, params []byte) bool) Option {
	return func(p *Pool) { p.completed = completed }
}

// start runs work that Close waits for; its context ends with the pool. It
// reports false when the pool is closed.
func (p *Pool) start(work func(context.Context)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.work.Go(p.tasks.Func("upstream pool", func() { work(p.life) }))
	return true
}
