package measure

import (
	"context"
	"fmt"

	"mcpgateway/cmd/bench/load"
)

// streamsPerKey is the number of streams opened with one key. The gateway's limit
// is slightly higher.
const streamsPerKey = 250

// streams measures n sessions, each with an idle event stream.
func (r *runner) streams(ctx context.Context, n int) ([]Reading, error) {
	s, err := r.stand(ctx, 1, 10, (n+streamsPerKey-1)/streamsPerKey)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	caller, err := s.client(ctx, 0, 0)
	if err != nil {
		return nil, err
	}
	defer caller.Close()
	if _, err := load.ClosedLoop(ctx, []*load.Client{caller}, r.Duration/4); err != nil {
		return nil, err
	}
	before, err := r.resident(ctx, s.gateway)
	if err != nil {
		return nil, err
	}
	open := make([]*load.Stream, 0, n)
	defer func() {
		for _, stream := range open {
			stream.Close()
		}
	}()
	for i := range n {
		stream, err := s.stream(ctx, i/streamsPerKey)
		if err != nil {
			return nil, fmt.Errorf("stream %d: %w", i+1, err)
		}
		open = append(open, stream)
	}
	after, err := r.resident(ctx, s.gateway)
	if err != nil {
		return nil, err
	}
	calls, err := load.ClosedLoop(ctx, []*load.Client{caller}, r.Duration)
	if err != nil {
		return nil, err
	}
	for i, stream := range open {
		if err := stream.Err(); err != nil {
			return nil, fmt.Errorf("stream %d ended: %w", i+1, err)
		}
	}
	return []Reading{
		{"memory", MiB, after},
		{"memory per stream", KiB, (after - before) * 1024 / float64(n)},
		{"tools/call at the same time, p50", Micros, micros(calls.Quantile(0.5))},
	}, nil
}

// stream opens a session and its event stream. It closes the session's request
// connection.
func (s *fixture) stream(ctx context.Context, key int) (*load.Stream, error) {
	c, err := s.client(ctx, key, 0)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Listen(ctx)
}
