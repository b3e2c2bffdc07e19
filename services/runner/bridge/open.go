//go:build linux || darwin

package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mcpgateway/services/runner/stdio"
	"mcpgateway/services/runner/supervise"
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

// keyStateless is the key of the process that all clients of revision 2026-07-28
// share. Programs that start without a caller have it too.
const keyStateless = ""

// Open completes the handshake with a new process; see supervise.Options.
func (b *Bridge) Open(ctx context.Context, process Process, key string) error {
	p := b.newPeer(process)
	process.SetPeer(supervise.Peer{Notify: p.notify, Serve: p.serve})
	if key != keyStateless || b.hasHandshake(process.Hash()) {
		err := b.initializeProcess(ctx, p, key, nil)
		if err != nil {
			b.dropAssumption(process.Hash())
		}
		return err
	}
	asked, err := b.discover(ctx, process)
	if err != nil {
		return err
	}
	defer asked.cancel()
	found, err := b.probe(ctx, process, asked)
	if err != nil {
		return err
	}
	b.setEra(process.Hash(), found)
	if found != eraStateless {
		err = b.initializeProcess(ctx, p, key, asked)
	}
	switch {
	case found == eraStateless || errors.Is(err, errStateless):
		b.setEra(process.Hash(), eraStateless)
		p.stateless.Store(true)
		return nil
	case errors.Is(err, stdio.ErrEnded):
		b.setEra(process.Hash(), eraAssumed)
		return supervise.ErrAgain // the next process gets no probe
	case err == nil:
		b.setEra(process.Hash(), eraHandshake)
	}
	return err
}

// initializeProcess sends initialize to a new process. asked is the probe of this
// process, or nil: if it shows revision 2026-07-28 now, the error is errStateless.
func (b *Bridge) initializeProcess(ctx context.Context, p *peer, key string, asked *probe) error {
	of := offerOfKey(key)
	if key == keyStateless {
		of = b.listingOffer()
	}
	response, err := asked.or(func() (stdio.Response, error) { return p.conn.Call(ctx, "initialize", b.paramsOf(of), nil) })
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	p.offer, p.initialized = of, response
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
