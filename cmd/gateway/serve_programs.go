package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"

	"mcpgateway/models"
	"mcpgateway/services"
	"mcpgateway/services/runner/files"
	"mcpgateway/services/runners"
)

// ownRunner is the runner of serve: none until its files have commands. It is safe
// for concurrent use, and its functions can be called again.
type ownRunner struct {
	services *services.Services
	std      streams
	files    *servedFiles
	lines    io.Writer
	log      *slog.Logger

	life   context.Context
	cancel context.CancelFunc
	attach func()        // connects the gateway to the runner
	ready  chan struct{} // closed by attach

	mu     sync.Mutex
	ended  bool
	keeper func() // ends the runner and its programs; nil while there is none
}

func newOwnRunner(ctx context.Context, s *services.Services, std streams, served *servedFiles, lines io.Writer, log *slog.Logger) *ownRunner {
	r := &ownRunner{services: s, std: std, files: served, lines: lines, log: log, ready: make(chan struct{})}
	r.life, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.attach = sync.OnceFunc(func() { close(r.ready) })
	return r
}

// isRunning reports whether the runner was started.
func (r *ownRunner) isRunning() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keeper != nil
}

// start starts the runner if there is none.
func (r *ownRunner) start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keeper != nil || r.ended {
		return nil
	}
	if !r.services.Config.LoopbackListener {
		r.log.Warn("local servers can read all files of this gateway's user, and other computers can reach it: use another user for them, a sidecar or an image")
	}
	peer := runners.Peer{Source: models.SourceConfig}
	if r.files.format == files.Local {
		peer.Source = models.SourceLocal
	}
	stop, err := keepRunner(r.life, r.std, r.services, r.files, r.lines, r.log, func(conn net.Conn) {
		select {
		case <-r.ready:
		case <-r.life.Done():
			_ = conn.Close()
			return
		}
		if err := r.services.Runners.Attach(r.life, peer, conn); err != nil && r.life.Err() == nil && !errors.Is(err, runners.ErrEnded) {
			r.log.Warn("runner of local servers not attached", "error", err)
		}
	})
	if err == nil {
		r.keeper = stop
	}
	return err
}

// stop ends the runner and its programs.
func (r *ownRunner) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keeper != nil && !r.ended {
		r.keeper()
	}
	r.ended = true
	r.cancel()
}
