package runners_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/runners"
	"mcpgateway/services/runners/wire"
	"mcpgateway/services/upstream"
)

var local = runners.Peer{Source: models.SourceLocal}

func TestRecordsFollowTheRunner(t *testing.T) {
	t.Parallel()
	w := attach(t, newFake(notes(wire.StateStopped)), local)
	if r := w.Record(w.row); !r.Connected || r.State != wire.StateStopped || r.Runner != "r1" {
		t.Errorf("record after the first list: %+v", r)
	}
	if all := w.All(); len(all) != 1 || all[0].ID != "r1" || all[0].Servers["id-notes"].Name != "notes" {
		t.Errorf("runners: %+v", all)
	}
	w.runner.change(func(l *wire.List) { l.Servers[0].State = wire.StateRunning })
	if id := <-w.changed; id != "id-notes" || !w.IsRunning(id) {
		t.Errorf("changed %q, running %v", id, w.IsRunning(id))
	}
	if got := w.StartTime("id-notes"); got != 90*time.Second {
		t.Errorf("time of a start: %s", got)
	}
	w.runner.change(func(l *wire.List) { l.Servers = nil })
	<-w.changed
	row := w.row
	row.Undeclared = true
	if r := w.Record(row); r.Connected || r.State != wire.StateUndeclared || r.Message != "Not in the file" || r.Since.IsZero() {
		t.Errorf("record of a program that left the file: %+v", r)
	}
	if _, _, known := w.State("id-notes"); known || w.StartTime("id-notes") != 0 {
		t.Error("a program that left the file is known")
	}
}

func TestStatesWithoutConnection(t *testing.T) {
	t.Parallel()
	w := attach(t, newFake(notes(wire.StateRunning)), runners.Peer{Source: models.SourceConnector, ProjectID: "p", ConnectorID: "c1"})
	if !w.IsConnected("c1") || w.IsConnected("") {
		t.Error("the connector is not connected")
	}
	for name, c := range map[string]struct {
		row       models.Server
		elsewhere bool
		state     wire.State
		text      string
	}{
		"computer not connected":     {models.Server{Source: models.SourceConnector, ConnectorID: "c2"}, false, wire.StateOffline, "Computer not connected"},
		"connected to another":       {models.Server{Source: models.SourceConnector, ConnectorID: "c2"}, true, wire.StateOffline, "runs on another replica"},
		"left the computer's file":   {models.Server{Source: models.SourceConnector, ConnectorID: "c1", Undeclared: true}, false, wire.StateUndeclared, "Not in the file"},
		"undeclared":                 {models.Server{Source: models.SourceLocal, Undeclared: true}, false, wire.StateUndeclared, "Not in the file"},
		"undeclared wins":            {models.Server{Source: models.SourceLocal, Undeclared: true}, true, wire.StateUndeclared, "Not in the file"},
		"in another replica's file":  {models.Server{Source: models.SourceConfig}, true, wire.StateOffline, "runs on another replica"},
		"own runner between its two": {models.Server{Source: models.SourceConfig}, false, wire.StateOffline, "The runner is starting"},
	} {
		c.row.ID, c.row.Entry, c.row.Alias = "other", "other", "other"
		w.Elsewhere = func(string) bool { return c.elsewhere }
		if r := w.Record(c.row); r.State != c.state || r.Message != c.text || r.Name != "other" {
			t.Errorf("%s: %+v", name, r)
		}
		if got := w.IsExpected(c.row); got != (c.text == "The runner is starting") {
			t.Errorf("%s: expected %v", name, got)
		}
		_, err := roundTrip(t, w.Runners, c.row)
		if !fault.Is(err, fault.CodeUpstreamUnavailable) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: call: %v", name, err)
		}
	}
	if w.IsExpected(w.row) {
		t.Error("a connected runner is expected")
	}
	w.runner.change(func(l *wire.List) { l.Servers[0].Hash = "h2" })
	<-w.changed
	_ = w.conn.Close()
	if err := <-w.ended; err == nil {
		t.Error("Attach returned no error at the end of the connection")
	}
	w.Elsewhere = func(string) bool { return false }
	if r := w.Record(w.row); r.Connected || r.Message != "Computer not connected" || r.Since.IsZero() || len(w.All()) != 0 {
		t.Errorf("after the end: %+v", r)
	}
	w.connect(t, runners.Peer{Source: models.SourceConnector, ProjectID: "p", ConnectorID: "c1"})
	<-w.changed // its end
	<-w.changed // its return
	if !w.IsRunning("id-notes") {
		t.Error("the program of a connector that came back is not running")
	}
}

func TestCallsWaitForTheNextConnection(t *testing.T) {
	t.Parallel()
	w := attach(t, newFake(notes(wire.StateRunning)), local)
	cut := func() {
		_ = w.conn.Close()
		if err := <-w.ended; err != nil {
			t.Logf("the connection ended: %v", err)
		}
		<-w.changed
	}
	cut()
	answers := make(chan error, 1)
	go func() {
		_, err := roundTrip(t, w.Runners, w.row)
		answers <- err
	}()
	w.connect(t, local)
	if err := <-answers; err != nil {
		t.Errorf("call between two connections: %v", err)
	}
	<-w.changed
	cut()
	undeclared := w.row
	undeclared.Undeclared = true
	if _, err := roundTrip(t, w.Runners, undeclared); err == nil || !strings.Contains(err.Error(), "Not in the file") {
		t.Errorf("call of a program that left the file: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gaveUp := errors.New("the caller gave up")
	cancel(gaveUp)
	if _, err := roundTripIn(ctx, t, w.Runners, w.row); !errors.Is(err, gaveUp) {
		t.Errorf("call that ends while it waits: %v", err)
	}
	left := w.Record(w.row).Since
	w.Now = func() time.Time { return left.Add(5 * time.Second) }
	if _, err := roundTrip(t, w.Runners, w.row); err == nil || !strings.Contains(err.Error(), "runs on another replica") {
		t.Errorf("call 5 s after the end of the connection: %v", err)
	}
	w.Now = func() time.Time { return left.Add(5*time.Second - 20*time.Millisecond) }
	began := time.Now()
	if _, err := roundTrip(t, w.Runners, w.row); err == nil || time.Since(began) < 20*time.Millisecond {
		t.Errorf("call 20 ms earlier: %v after %v", err, time.Since(began))
	}
}

// roundTrip sends a request with the target of a row.
func roundTrip(t *testing.T, r *runners.Runners, row models.Server) (*http.Response, error) {
	t.Helper()
	return roundTripIn(t.Context(), t, r, row)
}

func roundTripIn(ctx context.Context, t *testing.T, r *runners.Runners, row models.Server) (*http.Response, error) {
	t.Helper()
	var target upstream.Target
	r.Complete(&target, row)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.URL, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := target.HTTP.Transport.RoundTrip(request)
	if err == nil {
		t.Cleanup(func() { _ = resp.Body.Close() })
	}
	return resp, err
}

func TestRefusedRunners(t *testing.T) {
	t.Parallel()
	many := make([]wire.Server, wire.MaxServers+1)
	for i := range many {
		many[i] = wire.Server{Name: strings.Repeat("x", i+1), Hash: "h"}
	}
	for name, c := range map[string]struct {
		edit func(*wire.List)
		text string // empty if the runner is accepted
	}{
		"another version":   {func(l *wire.List) { l.Version = 2 }, "The runner uses version 2 of the protocol, and this gateway version 1. Use the same release for both."},
		"no ID":             {func(l *wire.List) { l.Runner = "" }, "no valid ID"},
		"200 programs":      {func(l *wire.List) { l.Servers = many[:wire.MaxServers] }, ""},
		"201 programs":      {func(l *wire.List) { l.Servers = many }, "The runner has 201 programs. The maximum is 200."},
		"nameless program":  {func(l *wire.List) { l.Servers[0].Name = "" }, "invalid name"},
		"name of 256 bytes": {func(l *wire.List) { l.Servers[0].Name = strings.Repeat("n", 256) }, ""},
		"name of 257 bytes": {func(l *wire.List) { l.Servers[0].Name = strings.Repeat("n", 257) }, "invalid name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(notes(wire.StateStopped))
			c.edit(&f.list)
			w := &world{runner: f, audit: make(chan runners.Event, 20), changed: make(chan string, 1000), ended: make(chan error, 1)}
			w.Runners = runners.New(options(w.audit, w.changed))
			w.connect(t, local)
			e := <-w.audit
			if c.text == "" {
				if e.Action != "runner.started" {
					t.Errorf("audit: %+v", e)
				}
				return
			}
			if err := <-w.ended; err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("refused with %v", err)
			}
			if e.Action != "runner.refused" || !strings.Contains(e.Detail["reason"], c.text) {
				t.Errorf("audit: %+v", e)
			}
		})
	}
}

func TestReloadsAreRecordedWithBothHashes(t *testing.T) {
	t.Parallel()
	w := attach(t, newFake(notes(wire.StateStopped), wire.Server{Name: "gone", Hash: "g"}), local)
	if e := <-w.audit; e.Action != "runner.started" || e.Runner != "r1" || e.Detail["/home/a/mcp.json"] != "aaaa" || e.Detail["servers"] != "notes, gone" {
		t.Errorf("start: %+v", e)
	}
	w.runner.change(func(l *wire.List) { l.Servers[0].State = wire.StateRunning }) // no entry
	w.runner.change(func(l *wire.List) {
		l.Files[0].SHA256 = "bbbb"
		l.Servers = []wire.Server{{Name: "notes", Hash: "h2"}, {Name: "new", Hash: "n"}}
	})
	e := <-w.audit
	for key, want := range map[string]string{"/home/a/mcp.json": "aaaa → bbbb", "added": "new", "changed": "notes (h1 → h2)", "removed": "gone"} {
		if e.Action != "runner.reloaded" || e.Detail[key] != want {
			t.Errorf("%s: %q, want %q", key, e.Detail[key], want)
		}
	}
}

func TestListIsStoredAgain(t *testing.T) {
	t.Parallel()
	audit, changed := make(chan runners.Event, 20), make(chan string, 100)
	o, tries := options(audit, changed), make(chan int, 10)
	stored, n := o.Listed, 0
	o.Listed = func(ctx context.Context, p runners.Peer, l wire.List) (map[string]string, error) {
		n++
		tries <- n
		if n == 1 {
			return nil, errors.New("the database is away")
		}
		return stored(ctx, p, l)
	}
	w := &world{runner: newFake(notes(wire.StateStopped)), Runners: runners.New(o), ended: make(chan error, 1)}
	w.connect(t, local)
	for <-tries < 2 {
	}
	if id := <-changed; id != "id-notes" {
		t.Errorf("changed %q", id)
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	w := attach(t, newFake(notes(wire.StateRunning)), local)
	w.row.Entry = "notes/a b"
	if err := errors.Join(w.Restart(t.Context(), w.row), w.Stop(t.Context(), w.row)); err != nil {
		t.Fatal(err)
	}
	w.runner.lines = []wire.Line{{Text: "stdout: token=abcdef123456"}, {Text: strings.Repeat("x", wire.MaxLogLine+1)}}
	log, err := w.Output(t.Context(), w.row)
	if err != nil || len(log.Lines) != 2 || log.Lines[0].Text != "stdout: token=[redacted]" || len(log.Lines[1].Text) != wire.MaxLogLine {
		t.Errorf("log %+v, %v", log, err)
	}
	want := "POST /v1/servers/notes%2Fa%20b/restart, POST /v1/servers/notes%2Fa%20b/stop, GET /v1/servers/notes%2Fa%20b/log"
	if got := strings.Join(w.runner.requests(), ", "); got != want {
		t.Errorf("requests %s\nwant     %s", got, want)
	}
	if err := w.Restart(t.Context(), models.Server{ID: "u", Alias: "u", URL: "https://a.example"}); !fault.Is(err, fault.CodeConflict) {
		t.Errorf("restart of a server with a URL: %v", err)
	}
	if _, err := w.Output(t.Context(), models.Server{ID: "o", Alias: "o", Entry: "o", Undeclared: true}); !fault.Is(err, fault.CodeUpstreamUnavailable) {
		t.Errorf("log of an undeclared program: %v", err)
	}
}

func TestFailuresOfTheRunner(t *testing.T) {
	t.Parallel()
	w := attach(t, newFake(notes(wire.StateBackoff)), local)
	answer := func(failure string, status int) {
		w.runner.mcp = func(rw http.ResponseWriter, _ *http.Request) {
			if failure != "" {
				rw.Header().Set(wire.HeaderFailure, failure)
			}
			rw.WriteHeader(status)
			_, _ = rw.Write([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Ended (exit code 1), again in 8 s: password=hunter2 is wrong"}}`))
		}
	}
	const text = "Ended (exit code 1), again in 8 s: password=[redacted] is wrong"
	answer(wire.FailureRefused, http.StatusServiceUnavailable)
	if _, err := roundTrip(t, w.Runners, w.row); !fault.Is(err, fault.CodeUpstreamUnavailable) || !strings.Contains(err.Error(), text) {
		t.Errorf("refused: %v", err)
	}
	answer(wire.FailureEnded, http.StatusNotFound)
	var ended *upstream.Ended
	if _, err := roundTrip(t, w.Runners, w.row); !errors.As(err, &ended) || ended.Text != text {
		t.Errorf("ended: %v", err)
	}
	answer("", http.StatusNotFound) // the response of the program
	if resp, err := roundTrip(t, w.Runners, w.row); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("own response: %v, %v", resp, err)
	}
}
