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

// ownRunner is the runner that serve starts for the commands of its files. Its
// functions can be called again.
type ownRunner struct {
	attach func() // connects the gateway to the runner
	stop   func() // ends the runner and its programs
}

// servePrograms starts the runner of serve. Files without commands need none.
func servePrograms(ctx context.Context, s *services.Services, std streams, served *servedFiles, lines io.Writer, log *slog.Logger) (ownRunner, error) {
	none := ownRunner{attach: func() {}, stop: func() {}}
	if served == nil || !served.set.HasPrograms() {
		return none, nil
	}
	if !s.Config.LoopbackListener {
		log.Warn("local servers can read all files of this gateway's user, and other computers can reach it: use another user for them, a sidecar or an image")
	}
	ready := make(chan struct{})
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	peer := runners.Peer{Source: models.SourceConfig}
	if served.format == files.Local {
		peer.Source = models.SourceLocal
	}
	stop, err := keepRunner(life, std, s, served, lines, log, func(conn net.Conn) {
		select {
		case <-ready:
		case <-life.Done():
			_ = conn.Close()
			return
		}
		if err := s.Runners.Attach(life, peer, conn); err != nil && life.Err() == nil && !errors.Is(err, runners.ErrEnded) {
			log.Warn("runner of local servers not attached", "error", err)
		}
	})
	if err != nil {
		cancel()
		return none, err
	}
	return ownRunner{attach: sync.OnceFunc(func() { close(ready) }), stop: sync.OnceFunc(func() { stop(); cancel() })}, nil
}
