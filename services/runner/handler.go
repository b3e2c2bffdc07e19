//go:build linux || darwin

package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"mcpgateway/services/runner/control"
	"mcpgateway/services/runners/wire"
)

// Times between two events of a stream.
const (
	eventPause = 100 * time.Millisecond // at least
	textPause  = time.Second            // while a text contains a time that passes
	usagePause = 10 * time.Second       // while programs run, for their memory
)

// List describes the runner and its programs, by name.
func (r *Runner) List() wire.List {
	l := wire.List{Version: wire.Version, Runner: r.o.Runner, Files: r.active.Files(), Servers: []wire.Server{}}
	for _, m := range r.all() {
		l.Servers = append(l.Servers, m.program.Record())
	}
	return l
}

// all returns the programs by name.
func (r *Runner) all() []*member {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]*member, 0, len(r.members))
	for _, m := range r.members {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *member) int { return strings.Compare(a.program.Entry().Name, b.program.Entry().Name) })
	return all
}

// Handler serves the paths of package wire to a gateway.
func (r *Runner) Handler() http.Handler {
	mux := r.shared()
	mux.HandleFunc("GET "+wire.PathEvents, r.events)
	mux.HandleFunc(wire.PathServer+"{name}/"+wire.SegmentMCP, r.of(func(w http.ResponseWriter, req *http.Request, m *member) { m.server.ServeHTTP(w, req) }))
	return mux
}

// Control serves the control socket.
func (r *Runner) Control(life context.Context) http.Handler {
	mux := r.shared()
	mux.HandleFunc("GET "+control.PathStatus, func(w http.ResponseWriter, _ *http.Request) { respond(w, r.status()) })
	mux.HandleFunc("POST "+control.PathReload, func(w http.ResponseWriter, _ *http.Request) {
		c, err := r.Reload(life)
		if err != nil {
			fail(w, http.StatusConflict, err.Error())
			return
		}
		respond(w, control.Reload{Added: c.Added, Replaced: c.Replaced, Settings: c.Settings, Removed: c.Removed})
	})
	return mux
}

// shared serves the paths that gateways and the control socket have.
func (r *Runner) shared() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+wire.PathServers, func(w http.ResponseWriter, _ *http.Request) { respond(w, r.List()) })
	mux.HandleFunc("GET "+wire.PathServer+"{name}/"+wire.SegmentLog, r.of(func(w http.ResponseWriter, _ *http.Request, m *member) { respond(w, m.program.Log()) }))
	mux.HandleFunc("POST "+wire.PathServer+"{name}/"+wire.SegmentRestart, r.of(func(w http.ResponseWriter, _ *http.Request, m *member) {
		m.program.Restart()
		w.WriteHeader(http.StatusNoContent)
	}))
	mux.HandleFunc("POST "+wire.PathServer+"{name}/"+wire.SegmentStop, r.of(func(w http.ResponseWriter, _ *http.Request, m *member) {
		m.program.Stop()
		w.WriteHeader(http.StatusNoContent)
	}))
	return mux
}

// of returns a handler for the program that a path names.
func (r *Runner) of(serve func(http.ResponseWriter, *http.Request, *member)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		m, ok := r.find(req.PathValue("name"))
		if !ok {
			fail(w, http.StatusNotFound, fmt.Sprintf("no program is named %.100q", req.PathValue("name")))
			return
		}
		serve(w, req, m)
	}
}

// status returns what only the user of the runner may know.
func (r *Runner) status() control.Status {
	s := control.Status{List: r.List(), Commands: map[string][]string{}, Notes: []string{}}
	for _, m := range r.all() {
		e := m.program.Entry()
		s.Commands[e.Name] = append([]string{e.Program}, e.Args...)
	}
	if r.o.Dialer != nil {
		s.Notes = append(s.Notes, r.o.Dialer.Notes()...)
	}
	return s
}

// events streams the list now and after each change.
func (r *Runner) events(w http.ResponseWriter, req *http.Request) {
	changes, end := r.changed.subscribe()
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	var last []byte
	for {
		list := r.List()
		raw, err := json.Marshal(list)
		if err != nil {
			return
		}
		if !bytes.Equal(raw, last) {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", raw); err != nil || out.Flush() != nil {
				return
			}
			last = raw
		}
		if !pause(req.Context(), eventPause) {
			return
		}
		select {
		case <-changes:
		case <-time.After(stale(list)):
		case <-req.Context().Done():
			return
		}
	}
}

// stale returns the time after which records of a list differ without a change of
// their states.
func stale(l wire.List) time.Duration {
	for i := range l.Servers {
		if state := l.Servers[i].State; state == wire.StateStarting || state == wire.StateBackoff {
			return textPause
		}
	}
	return usagePause
}

// pause reports whether d passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func respond(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the client may be gone
}

func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(wire.Error{Message: message})
}
