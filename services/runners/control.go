package runners

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/redact"
	"mcpgateway/services/runners/wire"
)

// controlTime is the timeout of a request about a program.
const controlTime = 10 * time.Second

// Restart requests that the runner ends the processes of a program and starts it
// again. It does not wait for the start. Faults: CONFLICT for a server with a
// URL, UPSTREAM_UNAVAILABLE without a connection or if the runner refuses.
func (r *Runners) Restart(ctx context.Context, row models.Server) error {
	return r.control(ctx, row, wire.SegmentRestart)
}

// Stop requests that the runner ends the processes of a program. The next call starts
// it again. Faults are those of Restart.
func (r *Runners) Stop(ctx context.Context, row models.Server) error {
	return r.control(ctx, row, wire.SegmentStop)
}

func (r *Runners) control(ctx context.Context, row models.Server, segment string) error {
	p, t, err := r.find(row)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, controlTime)
	defer cancel()
	resp, err := send(ctx, p.client, http.MethodPost, path(row.Entry, segment))
	if err != nil {
		return t.broken(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return t.broken(failure(resp))
	}
	return nil
}

// Output returns the latest output of a program, without texts that look like
// secrets. Faults are those of Restart.
func (r *Runners) Output(ctx context.Context, row models.Server) (wire.Log, error) {
	ctx, cancel := context.WithTimeout(ctx, controlTime)
	defer cancel()
	var log wire.Log
	p, t, err := r.find(row)
	if err != nil {
		return log, err
	}
	if err := get(ctx, p.client, path(row.Entry, wire.SegmentLog), &log); err != nil {
		return log, t.broken(err)
	}
	log.Lines = log.Lines[max(0, len(log.Lines)-wire.MaxLogLines):]
	for i, line := range log.Lines {
		log.Lines[i].Text = redact.Text(line.Text[:min(len(line.Text), wire.MaxLogLine)])
	}
	return log, nil
}

// find returns the program of a row, or a fault.
func (r *Runners) find(row models.Server) (program, *route, error) {
	t := &route{runners: r, row: row}
	if !row.IsProgram() {
		return program{}, nil, fault.Conflict("Server %s has a URL. Only a server that a runner starts has processes.", row.Alias)
	}
	p, ok := r.current.Load().servers[row.ID]
	if !ok {
		return program{}, nil, t.unavailable(r.Record(row).text())
	}
	return p, t, nil
}

// broken returns the fault for a request about a program that failed. It returns
// nil for nil.
func (t *route) broken(err error) error {
	var said refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &said):
		return t.unavailable(said.Error())
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return t.unavailable("its runner did not respond in time")
	}
	return t.unavailable("the connection to its runner was lost")
}
