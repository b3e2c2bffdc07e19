package runners

import (
	"time"

	"mcpgateway/models"
	"mcpgateway/services/runners/wire"
)

// Texts of programs without a connection.
const (
	textUndeclared = "Not in the file"
	textOffline    = "Computer not connected"
	textElsewhere  = "runs on another replica"
	textRestarting = "The runner is starting"
)

// Record is the state of a program for pages and the API.
type Record struct {
	wire.Server
	Runner    string // ID of the runner; empty without a connection
	Connected bool
	LastStart time.Duration // time of the last observed start; 0 if none
}

// Record returns the record of a program's row. Without a connection to its
// runner it has only the name, a state of the gateway, its start if known, and
// the text for it.
func (r *Runners) Record(row models.Server) Record {
	v := r.current.Load()
	if p, ok := v.servers[row.ID]; ok {
		return Record{Server: p.record, Runner: p.runner, Connected: true, LastStart: p.lastStart}
	}
	out := Record{Server: wire.Server{Name: row.Entry, Since: v.left[row.ID]}}
	out.State, out.Message = r.without(v, row)
	return out
}

// without returns the state of a program that is on no connection.
func (r *Runners) without(v *view, row models.Server) (wire.State, string) {
	switch {
	case r.elsewhere(row):
		return wire.StateOffline, textElsewhere
	case row.Source == models.SourceConnector && !v.connectors[row.ConnectorID]:
		return wire.StateOffline, textOffline
	case row.Undeclared || row.Source == models.SourceConnector:
		return wire.StateUndeclared, textUndeclared
	}
	return wire.StateOffline, textRestarting
}

// elsewhere reports whether another live replica declares a server that is on no
// connection of this process.
func (r *Runners) elsewhere(row models.Server) bool {
	switch {
	case row.Undeclared:
		return false
	case r.Elsewhere != nil:
		return r.Elsewhere(row.ID)
	}
	return true
}

// State returns the hash of the command of a server's program and its state.
// known is false if it is on no connection.
func (r *Runners) State(serverID string) (hash string, state wire.State, known bool) {
	p, ok := r.current.Load().servers[serverID]
	return p.record.Hash, p.record.State, ok
}

// IsRunning reports whether the program of a server runs.
func (r *Runners) IsRunning(serverID string) bool {
	_, state, _ := r.State(serverID)
	return state == wire.StateRunning
}

// IsExpected reports whether the runner of a program's row is about to connect: it is
// on no connection, and nothing explains that.
func (r *Runners) IsExpected(row models.Server) bool {
	v := r.current.Load()
	if _, ok := v.servers[row.ID]; ok {
		return false
	}
	_, text := r.without(v, row)
	return text == textRestarting
}

// StartTime returns the maximum time of a program's start, and 0 if it is on no
// connection.
func (r *Runners) StartTime(serverID string) time.Duration {
	p, ok := r.current.Load().servers[serverID]
	switch {
	case !ok:
		return 0
	case p.record.StartTimeoutMS <= 0:
		return defaultStart
	}
	return min(time.Duration(p.record.StartTimeoutMS)*time.Millisecond, maxStart)
}

// text returns the text of the record's state.
func (r Record) text() string {
	if r.Message != "" {
		return r.Message
	}
	return string(r.State)
}
