//go:build linux || darwin

package main

import (
	"context"
	"net"

	"mcpgateway/services"
	"mcpgateway/services/runner/keeper"
)

// keepRunner keeps a runner with a state directory running. stop ends it.
func keepRunner(ctx context.Context, std streams, s *services.Services, o localOptions, dir string, attach func(net.Conn)) (stop func(), err error) {
	k, err := startKeeper(ctx, std, keeper.Options{
		Config: keeper.Config{Paths: o.paths, Format: o.format, State: dir},
		Stderr: o.lines, Log: o.log, Tasks: s.Background,
	}, o.settings, attach)
	if err != nil {
		return nil, err
	}
	return k.Stop, nil
}
