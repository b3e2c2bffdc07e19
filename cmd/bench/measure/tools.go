package measure

import (
	"context"
	"fmt"

	"mcpgateway/cmd/bench/load"
)

// builtIn is the number of built-in tools listed by a project without Code Mode.
const builtIn = 2

// servers measures a project with n servers.
func (r *runner) servers(ctx context.Context, n int) ([]Reading, error) {
	s, err := r.stand(ctx, n, r.ToolsPerServer, 1)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	cpu, err := CPU(s.gateway.PID())
	if err != nil {
		return nil, err
	}
	readings, err := r.listAndCall(ctx, s, n-1, n*r.ToolsPerServer)
	return append([]Reading{
		{"all tools listed after", Seconds, s.listed.Seconds()},
		{"CPU until then", Seconds, cpu.Seconds()},
	}, readings...), err
}

// tools measures a project with one server of n tools.
func (r *runner) tools(ctx context.Context, n int) ([]Reading, error) {
	s, err := r.stand(ctx, 1, n, 1)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	return r.listAndCall(ctx, s, 0, n)
}

// listAndCall measures tools/list, a call to the given server, and memory before
// and after.
func (r *runner) listAndCall(ctx context.Context, s *fixture, server, tools int) ([]Reading, error) {
	client, err := s.client(ctx, 0, server)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	idle, err := r.resident(ctx, s.gateway)
	if err != nil {
		return nil, err
	}
	size := 0
	lists, err := repeat(ctx, r.Duration, func() error {
		listed, bytes, err := client.List()
		if size = bytes; err == nil && listed != tools+builtIn {
			err = fmt.Errorf("%d tools listed, want %d", listed, tools+builtIn)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	calls, err := load.ClosedLoop(ctx, []*load.Client{client}, r.Duration)
	if err != nil {
		return nil, err
	}
	loaded, err := r.resident(ctx, s.gateway)
	return []Reading{
		{"tools/list, p50", Micros, micros(lists.Quantile(0.5))},
		{"size of the result", MiB, mib(int64(size))},
		{"tools/call, p50", Micros, micros(calls.Quantile(0.5))},
		{"memory before", MiB, idle},
		{"memory after", MiB, loaded},
	}, err
}
