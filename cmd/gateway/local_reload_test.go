package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	runnerwire "mcpgateway/services/runners/wire"
	"mcpgateway/services/upstream/upstreamtest"
)

const (
	reloadAdminToken = "token-of-the-reload-test"
	// changeLimit is the maximum time until a changed file, which is checked every 2
	// seconds, is in effect.
	changeLimit = 30 * time.Second
)

// programStage is a stage for programs of cmd/mockmcp.
type programStage struct {
	*stage
	mock, key string
}

func newProgramStage(t *testing.T) *programStage {
	t.Helper()
	s := &programStage{stage: &stage{root: moduleRoot(t), folder: t.TempDir()}}
	s.binary, s.mock = s.build(t, "gateway", "./cmd/gateway"), s.build(t, "mockmcp", "./cmd/mockmcp")
	return s
}

// program returns the entry of a program with a number of standard tools.
func (s *programStage) program(tools int, more map[string]any) map[string]any {
	e := map[string]any{"command": s.mock, "args": []string{"-stdio", "-tools", fmt.Sprint(tools)}}
	for key, value := range more {
		e[key] = value
	}
	return e
}

// list returns the names of the listed tools, between spaces.
func (s *programStage) list(ctx context.Context) (string, error) {
	status, _, body, err := send(ctx, http.MethodPost, s.endpoint("local"), s.key, []byte(listRequest))
	var l struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err = errors.Join(err, json.Unmarshal(body, &l)); err != nil || status != http.StatusOK {
		return "", fmt.Errorf("status %d, %w: %.300s", status, err, body)
	}
	names := " "
	for _, tool := range l.Result.Tools {
		names += tool.Name + " "
	}
	return names, nil
}

// awaitTools waits until a tool is listed and another is not.
func (s *programStage) awaitTools(t *testing.T, listed, absent string) {
	t.Helper()
	eventually(t, changeLimit, listed+" is listed", func(ctx context.Context) error {
		names, err := s.list(ctx)
		if err == nil && (!strings.Contains(names, " "+listed+" ") || strings.Contains(names, " "+absent+" ")) {
			err = fmt.Errorf("tools:%s", names)
		}
		return err
	}, s.gateway)
}

// awaitLine waits for a line of the log that has all texts.
func (s *programStage) awaitLine(t *testing.T, texts ...string) {
	t.Helper()
	eventually(t, changeLimit, "the line is logged", func(context.Context) error {
		for line := range strings.SplitSeq(s.gateway.log.String(), "\n") {
			has := true
			for _, text := range texts {
				has = has && strings.Contains(line, text)
			}
			if has {
				return nil
			}
		}
		return fmt.Errorf("no line with %q", texts)
	}, s.gateway)
}

// record returns what the runner states about a program, or why there is none.
func (s *programStage) record(t *testing.T, name string) (runnerwire.Server, error) {
	t.Helper()
	done := run(t, program{name: "gateway runner status", path: s.binary, dir: s.folder, env: s.env, args: []string{"runner", "status", "--json"}}, readyLimit)
	var all []runnerwire.Server
	if done.status != 0 {
		return runnerwire.Server{}, errors.New(done.stderr)
	}
	if err := json.Unmarshal([]byte(done.stdout), &all); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if all[i].Name == name {
			return all[i], nil
		}
	}
	return runnerwire.Server{}, fmt.Errorf("%s is not among %d programs", name, len(all))
}

// TestServeReload adds the first command to the file of a gateway that has no runner:
// it waits for SIGHUP, and then the runner is started. SIGHUP changes nothing if the
// file has a mistake.
func TestServeReload(t *testing.T) {
	s := newProgramStage(t)
	up := map[string]any{"url": upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)}).Start(t)}
	s.serveLocal(t, map[string]any{"up": up})
	s.key = s.localKey(t)
	s.awaitTools(t, "up__echo", "one__echo")
	s.writeLocal(t, map[string]any{"second": up, "one": s.program(1, nil)})
	s.awaitLine(t, "changed commands wait for a reload", `"servers":"one"`)
	s.awaitTools(t, "second__echo", "up__echo")
	if r, err := s.record(t, "one"); err == nil {
		t.Fatalf("a runner runs before the reload: %+v", r)
	}
	s.hangUp(t)
	s.awaitTools(t, "one__echo", "up__echo")

	s.writeLocal(t, map[string]any{"one": s.program(2, nil)})
	eventually(t, changeLimit, "the changed command is held", func(context.Context) error {
		r, err := s.record(t, "one")
		if err == nil && !r.Held {
			err = fmt.Errorf("%+v", r)
		}
		return err
	}, s.gateway)
	if names, err := s.list(t.Context()); err != nil || strings.Contains(names, "one__sleep") {
		t.Errorf("tools of the held command: %s, %v", names, err)
	}
	s.hangUp(t)
	s.awaitTools(t, "one__sleep", "second__echo")
	s.writeLocal(t, map[string]any{})
	s.hangUp(t)
	s.awaitLine(t, "changed file not applied", "it contains no servers")
	if names, err := s.list(t.Context()); err != nil || !strings.Contains(names, "one__sleep") {
		t.Errorf("tools after a file with a mistake: %s, %v", names, err)
	}
}

// hangUp sends SIGHUP to the gateway.
func (s *programStage) hangUp(t *testing.T) {
	t.Helper()
	if err := s.gateway.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}

// TestServeWatch changes commands of a gateway that takes them at once: the first one
// and another.
func TestServeWatch(t *testing.T) {
	s := newProgramStage(t)
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)}).Start(t)
	s.prepareLocal(t, map[string]any{"up": map[string]any{"url": up}})
	s.runLocal(t, "--watch")
	s.key = s.localKey(t)
	s.writeLocal(t, map[string]any{"one": s.program(1, nil)})
	s.awaitTools(t, "one__echo", "one__sleep")
	s.awaitLine(t, "changed commands taken at once (--watch)")
	s.writeLocal(t, map[string]any{"one": s.program(2, nil)})
	s.awaitTools(t, "one__sleep", "two__echo")
	s.awaitLine(t, "changed file of local servers applied, with its commands (--watch)", `"replaced":"one"`)
}

// TestServeIdle waits until an idle program has stopped. A planned sync does not start
// it, the next call does.
func TestServeIdle(t *testing.T) {
	s := newProgramStage(t)
	up := upstreamtest.New(upstreamtest.Options{Tools: upstreamtest.Standard(1)})
	idle := map[string]any{"idleTimeout": 10_000}
	s.serveLocal(t, map[string]any{"one": s.program(1, idle), "up": map[string]any{"url": up.Start(t)}}, "GATEWAY_ADMIN_TOKEN="+reloadAdminToken)
	s.key = s.localKey(t)
	s.awaitTools(t, "one__echo", "up__sleep")
	stopped := func(starts int64) {
		t.Helper()
		eventually(t, changeLimit, "the program is idle", func(context.Context) error {
			r, err := s.record(t, "one")
			if err == nil && (r.State != runnerwire.StateStopped || r.Processes != 0 || r.Starts != starts) {
				err = fmt.Errorf("%+v", r)
			}
			return err
		}, s.gateway)
	}
	stopped(1)
	lists := len(up.Requests("tools/list"))
	for _, alias := range []string{"one", "up"} { // new configurations are synced at once
		s.patch(t, alias, `{"timeout":61000}`)
	}
	if _, err := up.WaitForRequests(t.Context(), "tools/list", lists+1); err != nil {
		t.Fatal(err)
	}
	stopped(1)
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one__echo","arguments":{"text":"again"}}}`)
	if status, _, answer, err := send(t.Context(), http.MethodPost, s.endpoint("local"), s.key, body); err != nil || !bytes.Contains(answer, []byte(`"again"`)) {
		t.Fatalf("call: status %d, %v: %s", status, err, answer)
	}
	stopped(2)
}

// patch changes a server of the project local.
func (s *programStage) patch(t *testing.T, alias, body string) {
	t.Helper()
	status, _, list, err := send(t.Context(), http.MethodGet, s.base+"/api/projects/local/servers?limit=100", reloadAdminToken, nil)
	var found struct{ Items []struct{ ID, Alias string } }
	if err = errors.Join(err, json.Unmarshal(list, &found)); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v", status, err)
	}
	for _, server := range found.Items {
		if server.Alias != alias {
			continue
		}
		status, _, answer, err := send(t.Context(), http.MethodPatch, s.base+"/api/servers/"+server.ID, reloadAdminToken, []byte(body))
		if err != nil || status != http.StatusOK {
			t.Errorf("%s: status %d, %v: %s", alias, status, err, answer)
		}
	}
}
