//go:build linux || darwin

package main

import (
	"context"
	"io"
	"log/slog"
	"net"

	"mcpgateway/services"
	"mcpgateway/services/runner/keeper"
)

// keepRunner starts a runner of files and its keeper. stop ends both.
func keepRunner(ctx context.Context, std streams, s *services.Services, served *servedFiles, lines io.Writer, log *slog.Logger, attach func(net.Conn)) (stop func(), err error) {
	dir, err := runnerState(std, served.state)
	if err != nil {
		return nil, err
	}
	k, err := startKeeper(ctx, std, keeper.Options{
		Config: keeper.Config{Paths: served.paths, Format: served.format, State: dir, Watch: served.takeCommands},
		Stderr: lines, Log: log, Tasks: s.Background,
	}, s.Config, attach)
	if err != nil {
		return nil, err
	}
	return k.Stop, nil
}
