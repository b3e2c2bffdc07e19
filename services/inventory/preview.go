package inventory

import (
	"context"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

// Preview is the result of reading a server that is not stored.
type Preview struct {
	Tools    []string // the upstream's own names, in its order
	Warnings []string
	Duration time.Duration
}

// Preview connects to a server and reads its tools, in at most SyncTimeout. The
// server need not be stored. Try writes nothing and closes its session. It
// returns the faults of Pool.Call.
func (s *Syncer) Preview(ctx context.Context, row models.Server) (Preview, error) {
	run, done, ok := s.begin(ctx, SyncTimeout)
	if !ok {
		return Preview{}, errEnding()
	}
	defer done()
	// Unlike a sync, the run has only one caller, so it is cancelled with ctx.
	run, cancel := context.WithCancel(run)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	defer s.Pool.Drop(row.ID)
	start := time.Now()
	definitions, _, warnings, err := s.Pool.ListTools(run, s.Target(row))
	trial := Preview{Warnings: warnings, Duration: time.Since(start)}
	for _, raw := range definitions {
		if o, err := rawjson.ParseObject(raw, rawjson.Lenient); err == nil {
			name, _ := o.String("name")
			trial.Tools = append(trial.Tools, name)
		}
	}
	return trial, err
}
