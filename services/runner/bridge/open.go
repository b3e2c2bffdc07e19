//go:build linux || darwin

package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/runner/stdio"
	"mcpgateway/services/runner/supervise"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// era is the protocol generation of a command.
type era uint8

const (
	eraUnknown   era = iota
	eraAssumed       // a handshake, because nothing else was found
	eraHandshake     // a handshake, which succeeded
	eraStateless     // 2026-07-28
)

const (
	methodDiscover = "server/discover"
	// maxSilence is the maximum time between the first output of a program and its
	// response to server/discover.
	maxSilence = 10 * time.Second
	// initializeTime is the part of the time for a start that remains for the
	// handshake of a program without output.
	initializeTime = 10 * time.Second
	// keyStateless is the key of the process that all clients of revision
	// 2026-07-28 share. Programs that start without a caller have it too.
	keyStateless = ""
)

// Open completes the handshake with a new process; see supervise.Options.
func (b *Bridge) Open(ctx context.Context, process Process, key string) error {
	p := b.newPeer(process)
	process.SetPeer(supervise.Peer{Notify: p.notify, Serve: p.serve})
	if key != keyStateless || b.hasHandshake(process.Hash()) {
		err := b.initializeProcess(ctx, p, key)
		if err != nil {
			b.dropAssumption(process.Hash())
		}
		return err
	}
	found, err := b.probe(ctx, process)
	if err != nil {
		return err
	}
	b.setEra(process.Hash(), found)
	if found == eraStateless {
		p.stateless.Store(true)
		return nil
	}
	if err = b.initializeProcess(ctx, p, key); errors.Is(err, stdio.ErrEnded) {
		return supervise.ErrAgain // the next process gets no probe
	}
	return err
}

// initializeProcess sends initialize to a new process.
func (b *Bridge) initializeProcess(ctx context.Context, p *peer, key string) error {
	of := offerOfKey(key)
	if key == keyStateless {
		of = b.listingOffer()
	}
	p.offer = of
	response, err := p.conn.Call(ctx, "initialize", b.paramsOf(of), nil)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	p.initialized = response
	if response.RPCError != nil {
		if key == keyStateless {
			return fmt.Errorf("the program rejected initialize: %s", wire.ErrorText(response.RPCError))
		}
		return nil // the client receives the error
	}
	b.confirm(p.process.Hash())
	if err := p.conn.Notify("notifications/initialized", nil); err != nil {
		return err
	}
	switch {
	case key != keyStateless:
	case p.perClient:
		b.mu.Lock()
		b.spare = p
		b.mu.Unlock()
	default:
		p.process.Assign(of)
	}
	return nil
}

// probe sends server/discover to a new process and returns its era. The end of the
// process and silence mean a handshake. The error is that of ctx or of a limit.
func (b *Bridge) probe(ctx context.Context, process Process) (era, error) {
	asked, cancel := context.WithCancel(ctx)
	defer cancel()
	params, err := b.discoverParams()
	if err != nil {
		return eraUnknown, err
	}
	var response stdio.Response
	answered := make(chan struct{})
	b.options.Tasks.Go("probe of a program", func() {
		defer close(answered)
		response, err = process.Conn().Call(asked, methodDiscover, params, nil)
	})
	if !b.awaitProbe(ctx, process, answered) {
		cancel() // it is silent
		<-answered
		return eraAssumed, ctx.Err()
	}
	switch {
	case errors.Is(err, stdio.ErrEnded):
		return eraAssumed, nil
	case err != nil:
		return eraUnknown, err
	case isModern(response):
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

// hasHandshake reports whether the command with the hash has a handshake.
func (b *Bridge) hasHandshake(hash string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.eras[hash] == eraAssumed || b.eras[hash] == eraHandshake
}

func (b *Bridge) setEra(hash string, found era) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.eras[hash] = found
}

// confirm records that a handshake succeeded.
func (b *Bridge) confirm(hash string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.eras[hash] == eraAssumed {
		b.eras[hash] = eraHandshake
	}
}

// dropAssumption forgets a handshake that was assumed and failed: the program may
// have ended at the probe for another reason.
func (b *Bridge) dropAssumption(hash string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.eras[hash] == eraAssumed {
		delete(b.eras, hash)
	}
}

// offerOfKey returns the offer in the key of a process: an object, after the name of
// a session and a space for processes of one client.
func offerOfKey(key string) string {
	if !strings.HasPrefix(key, "{") {
		_, key, _ = strings.Cut(key, " ")
	}
	return key
}
