//go:build linux || darwin

package bridge

import (
	"context"
	"errors"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/runner/stdio"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

const (
	methodDiscover = "server/discover"
	// maxSilence is the maximum time between the first output of a program and its
	// response to server/discover, before it also gets initialize.
	maxSilence = 10 * time.Second
	// initializeTime is the part of the time for a start that remains for the
	// handshake of a program without output.
	initializeTime = 10 * time.Second
	// maxProbeLag is the maximum time between the response to initialize and that to
	// server/discover, of a program that read both at once.
	maxProbeLag = 100 * time.Millisecond
)

// errStateless is the error of a handshake that the program does not need.
var errStateless = errors.New("the program has revision 2026-07-28")

// probe is a request server/discover to a new process.
type probe struct {
	tasks    *background.Tasks
	answered chan struct{} // closed when response and err are final
	cancel   context.CancelFunc

	response stdio.Response
	err      error
}

// discover sends server/discover to a new process. The caller must call cancel.
func (b *Bridge) discover(ctx context.Context, process Process) (*probe, error) {
	params, err := b.discoverParams()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &probe{tasks: b.options.Tasks, answered: make(chan struct{}), cancel: cancel}
	p.tasks.Go("probe of a program", func() {
		defer close(p.answered)
		p.response, p.err = process.Conn().Call(ctx, methodDiscover, params, nil)
	})
	return p, nil
}

// probe returns the era of a new process: eraUnknown if it is silent. The end of
// the process means a handshake. The error is that of ctx or of a limit.
func (b *Bridge) probe(ctx context.Context, process Process, asked *probe) (era, error) {
	switch {
	case !b.awaitProbe(ctx, process, asked.answered):
		return eraUnknown, ctx.Err()
	case errors.Is(asked.err, stdio.ErrEnded):
		return eraAssumed, nil
	case asked.err != nil:
		return eraUnknown, asked.err
	case isModern(asked.response):
		return eraStateless, nil
	}
	return eraAssumed, nil
}

// awaitProbe waits for the response to server/discover. It reports false when ctx ends
// or the program is silent: maxSilence after its first output, or without any until
// only the handshake fits into the time for a start.
func (b *Bridge) awaitProbe(ctx context.Context, process Process, answered <-chan struct{}) bool {
	start := b.options.Entry().StartTimeout
	late := time.NewTimer(start - min(initializeTime, start/4))
	defer late.Stop()
	output := process.Output()
	var silent <-chan time.Time
	for {
		select {
		case <-answered:
			return true
		case <-output:
			late.Stop()
			output, silent = nil, time.After(maxSilence)
		case <-silent:
			return false
		case <-late.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// or returns the response to initialize, or errStateless if the probe shows revision
// 2026-07-28 before that or at once after. A program that takes long to start reads
// both when it has started. A nil probe shows nothing.
func (p *probe) or(initialize func() (stdio.Response, error)) (stdio.Response, error) {
	if p == nil {
		return initialize()
	}
	var response stdio.Response
	err := errors.New("the handshake failed")
	done := make(chan struct{})
	p.tasks.Go("handshake of a program", func() {
		defer close(done)
		response, err = initialize()
	})
	var late <-chan time.Time
	answered, ended := p.answered, done
	for {
		select {
		case <-answered:
			if p.err == nil && isModern(p.response) {
				return stdio.Response{}, errStateless // initialize must not be cancelled
			}
			answered = nil
			if late != nil {
				return response, err
			}
		case <-ended:
			if answered == nil || err != nil {
				return response, err
			}
			ended, late = nil, time.After(maxProbeLag)
		case <-late:
			return response, nil
		}
	}
}

// isModern reports whether the response to server/discover is one of revision
// 2026-07-28.
func isModern(r stdio.Response) bool {
	if r.RPCError == nil {
		return (&upstream.Description{}).Discover(r.Result)
	}
	code := wire.ErrorCode(r.RPCError)
	return upstream.IsModernCode(code) && (code != upstream.CodeUnsupportedProtocolVersion || wire.IsOffered(r.RPCError))
}

// discoverParams returns the params of server/discover.
func (b *Bridge) discoverParams() ([]byte, error) {
	o, err := rawjson.ParseObject([]byte("{}"), rawjson.Lenient)
	if err != nil {
		return nil, err
	}
	body, _, err := wire.StatelessRequest(1, methodDiscover, o, syncCapabilities(false), b.self)
	if err != nil {
		return nil, err
	}
	m, err := wire.ParseMessage(body)
	return m.Params, err
}
