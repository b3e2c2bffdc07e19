package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"sync"

	"mcpgateway/services"
	"mcpgateway/services/config"
	"mcpgateway/services/runner/files"
)

// localOptions are what the runner of serve runs.
type localOptions struct {
	paths    []string // none means no runner
	format   files.Format
	settings *config.Config
	lines    io.Writer // receives the runner's log lines
	log      *slog.Logger
	// serve serves a connection to a runner until it ends.
	serve func(ctx context.Context, conn net.Conn)
}

// local is the runner of serve. Both functions can be called again.
type local struct {
	attach func() // lets connections be served
	stop   func() // ends the runner and its programs
}

// configPaths returns the declarative file as a file of programs. Standard input
// is none.
func configPaths(file string) []string {
	if file == "" || file == "-" {
		return nil
	}
	return []string{file}
}

// startLocal starts the runner for the programs of the files. Without programs it
// starts nothing.
func startLocal(ctx context.Context, s *services.Services, std streams, o localOptions) (local, error) {
	none := local{attach: func() {}, stop: func() {}}
	if len(o.paths) == 0 {
		return none, nil
	}
	set, err := readFiles(o.paths, o.format)
	if err != nil || !set.HasPrograms() {
		return none, err
	}
	if !o.settings.LoopbackListener {
		o.log.Warn("other computers can reach this gateway, and its local servers can read all files of its user: use another user, a sidecar or an image")
	}
	dir, err := runnerState(std, "")
	if err != nil {
		return none, err
	}
	ready := make(chan struct{})
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop, err := keepRunner(life, std, s, o, dir, func(conn net.Conn) {
		select {
		case <-ready:
			o.serve(life, conn)
		case <-life.Done():
			_ = conn.Close()
		}
	})
	if err != nil {
		cancel()
		return none, err
	}
	return local{attach: sync.OnceFunc(func() { close(ready) }), stop: sync.OnceFunc(func() { stop(); cancel() })}, nil
}
