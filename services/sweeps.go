package services

import (
	"context"
	"log/slog"
	"time"

	"mcpgateway/models"
)

// How often what is over is removed from the database, by the one replica that
// owns a sweep.
const (
	firstSweep         = time.Minute // after a replica became the owner
	sweepInterval      = time.Hour
	callsSweepInterval = 10 * time.Minute
)

// sweep removes something that is over, now and then.
type sweep struct {
	name  string // as in "sweep people", which is what replicas agree about
	every time.Duration
	do    func(context.Context) error
	log   *slog.Logger
}

// sweeps returns what has to be removed: sessions and failed attempts of
// people, what they allowed clients, and old calls.
func (s *Services) sweeps() []sweep {
	return []sweep{
		{"people", sweepInterval, s.People.Sweep, s.log},
		{"grants", sweepInterval, s.OAuth.Sweep, s.log},
		{"calls", callsSweepInterval, s.Calls.Sweep, s.log},
		{"reserve", sweepInterval, s.keepReserve, s.log},
	}
}

// run sweeps until the context ends.
func (w sweep) run(ctx context.Context) {
	timer := time.NewTimer(min(firstSweep, w.every))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := w.do(ctx); err != nil && ctx.Err() == nil {
			w.log.Warn("what is over was not removed", "sweep", w.name, "error", err)
		}
		timer.Reset(w.every)
	}
}

// keepReserve fills up the space that revocations use when the disk is full.
func (s *Services) keepReserve(context.Context) error { return models.KeepReserve(s.DB) }
