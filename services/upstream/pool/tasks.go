package pool

import (
	"context"

	"mcpgateway/services/background"
)

// Option configures a Pool.
type Option func(*Pool)

// WithTasks starts the goroutines of the pool with tasks.
func WithTasks(tasks *background.Tasks) Option { return func(p *Pool) { p.tasks = tasks } }

// WithInstance sets the name of this gateway in the Gateway-Hops header of
// every request.
func WithInstance(name string) Option { return func(p *Pool) { p.instance = name } }

// WithElicitations sets a function that receives the params of each
// elicitation/complete notification on a shared stream. completed reports
// whether a client of the account's user received that elicitation, and must
// not block. userID is empty for an account that all users share.
func WithElicitations(completed func(serverID, userID string, params []byte) bool) Option {
	return func(p *Pool) { p.completed = completed }
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
