//go:build linux || darwin

package runner_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpgateway/services/runner/control"
	"mcpgateway/services/runners/wire"
)

// TestChangedCommandsWait changes a file: settings and removals apply, commands
// only with a reload, and a refused file changes nothing.
func TestChangedCommandsWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock(t, "changed", `,"start":"eager"`)+","+mock(t, "settings", `,"startTimeout":5000`)+","+mock(t, "removed", ""))
	w.start(t)
	before := w.await(t, "changed", wire.StateRunning)
	w.write(t, mock(t, "changed", `,"start":"eager"`, "-tools", "1")+","+mock(t, "settings", `,"startTimeout":6000`)+","+mock(t, "new", `,"start":"eager"`))
	held := w.await(t, "new", wire.StateHeld)
	changed, _ := w.record(t, "changed")
	settings, _ := w.record(t, "settings")
	if !held.Held || !changed.Held || changed.Hash != before.Hash || changed.State != wire.StateRunning || changed.Starts != before.Starts {
		t.Errorf("before the reload: new %+v, changed %+v", held, changed)
	}
	if _, missing := w.record(t, "removed"); settings.StartTimeoutMS != 6000 || missing == "" {
		t.Errorf("settings %+v, removed %q", settings, missing)
	}
	if err := os.Chmod(w.file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("reload of a file that others can write: %v", err)
	}
	if err := os.Chmod(w.file, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := w.client.Reload(t.Context())
	if err != nil || fmt.Sprint(r.Added, r.Replaced) != "[new] [changed]" {
		t.Errorf("reload: %+v, %v", r, err)
	}
	w.await(t, "new", wire.StateRunning)
	eventually(t, patience, func() string {
		now, _ := w.record(t, "changed")
		if now.Held || now.Hash == before.Hash || now.State != wire.StateRunning || now.Starts < 2 {
			return fmt.Sprintf("after the reload: %+v", now)
		}
		return ""
	})
}

func TestWatchTakesCommandsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock(t, "one", ""))
	w.config.Watch = true
	w.start(t)
	w.await(t, "one", wire.StateStopped)
	w.write(t, mock(t, "two", `,"start":"eager"`))
	w.await(t, "two", wire.StateRunning)
	if !strings.Contains(w.log.String(), "--watch") {
		t.Error("the log does not say so")
	}
}

// TestControl uses the control socket.
func TestControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock(t, "one", `,"start":"eager"`, "-tools", "2"))
	var missing *control.NotRunning
	if _, err := w.client.Status(t.Context()); !errors.As(err, &missing) {
		t.Errorf("without a runner: %v", err)
	}
	w.start(t)
	first := w.await(t, "one", wire.StateRunning)
	s, err := w.client.Status(t.Context())
	if err != nil || len(s.Commands["one"]) != 4 || len(s.Files) != 1 || s.Version != wire.Version {
		t.Errorf("status %+v, %v", s, err)
	}
	if err := w.client.Restart(t.Context(), "one"); err != nil {
		t.Error(err)
	}
	eventually(t, patience, func() string {
		if now, _ := w.record(t, "one"); now.Starts == first.Starts || now.State != wire.StateRunning {
			return fmt.Sprintf("after the restart: %+v", now)
		}
		return ""
	})
	if err := w.client.Stop(t.Context(), "one"); err != nil {
		t.Error(err)
	}
	w.await(t, "one", wire.StateStopped)
	for _, err := range []error{w.client.Stop(t.Context(), "two"), w.client.Restart(t.Context(), "a/b")} {
		if err == nil || !strings.Contains(err.Error(), "no program is named") {
			t.Errorf("unknown name: %v", err)
		}
	}
	if info, err := os.Stat(filepath.Join(w.state, "control.sock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v", info, err)
	}
}

// TestTooManyPrograms tests the limit of a runner.
func TestTooManyPrograms(t *testing.T) {
	t.Parallel()
	servers := make([]string, wire.MaxServers+1)
	for i := range servers {
		servers[i] = fmt.Sprintf(`"s%d":{"command":"true","idleTimeout":0}`, i)
	}
	w := newWorld(t, strings.Join(servers[:wire.MaxServers], ","))
	w.start(t)
	eventually(t, patience, func() string { _, missing := w.record(t, "s0"); return missing })
	if l, err := w.client.List(t.Context()); err != nil || len(l.Servers) != wire.MaxServers {
		t.Fatalf("%d servers, %v", len(l.Servers), err)
	}
	w.write(t, strings.Join(servers, ","))
	if _, err := w.client.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "at most 200") {
		t.Errorf("one more: %v", err)
	}
	w.write(t, strings.Join(servers[:wire.MaxServers-1], ","))
	if r, err := w.client.Reload(t.Context()); err != nil || len(r.Removed) != 1 {
		t.Errorf("one fewer: %+v, %v", r, err)
	}
}

const token = "0123456789abcdef0123456789abcdef"

var listening = regexp.MustCompile(`msg="runner listening" address=(\S+)`)

// address returns the address of --listen.
func (w *world) address(t *testing.T) string {
	t.Helper()
	var found []string
	eventually(t, patience, func() string {
		if found = listening.FindStringSubmatch(w.log.String()); found == nil {
			return "no address in the log"
		}
		return ""
	})
	return found[1]
}

// TestListen uses the address of --listen over TCP and over a Unix socket.
func TestListen(t *testing.T) {
	t.Parallel()
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mock(t, "one", ""))
			w.config.Listen, w.config.Token = "127.0.0.1:0", token
			if network == "unix" {
				w.config.Listen = "unix:" + filepath.Join(filepath.Dir(w.state), "l.sock")
			}
			w.start(t)
			w.await(t, "one", wire.StateStopped)
			send := sender(t, network, w.address(t))
			cases := map[string]struct {
				host, token, origin string
				want                int
			}{
				"allowed":      {"127.0.0.1:1", token, "", http.StatusOK},
				"no token":     {"127.0.0.1:1", "", "", http.StatusUnauthorized},
				"wrong token":  {"127.0.0.1:1", token + "0", "", http.StatusUnauthorized},
				"web page":     {"127.0.0.1:1", token, "http://127.0.0.1:1", http.StatusForbidden},
				"foreign host": {"example.com", token, "", map[string]int{"tcp": http.StatusForbidden, "unix": http.StatusOK}[network]},
			}
			for name, c := range cases {
				resp := send(t.Context(), c.host, wire.PathServers, c.token, c.origin)
				_ = resp.Body.Close()
				if resp.StatusCode != c.want || resp.ProtoMajor != 2 {
					t.Errorf("%s: %s %s, want %d", name, resp.Proto, resp.Status, c.want)
				}
			}
			wantEvents(t, w, send(t.Context(), "localhost", wire.PathEvents, token, ""))
		})
	}
}

// TestEventsFollowAStart reads the events of a program that takes long to start.
func TestEventsFollowAStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock(t, "slow", `,"start":"eager"`, "-start", "1h"))
	w.config.Listen, w.config.Token = "127.0.0.1:0", token
	w.start(t)
	w.await(t, "slow", wire.StateStarting)
	resp := sender(t, "tcp", w.address(t))(t.Context(), "localhost", wire.PathEvents, token, "")
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"message":"Starting, 2 s: mockmcp: starting, 1h0m0s"`) {
			return
		}
	}
	t.Errorf("the stream ended: %v", lines.Err())
}

// sender returns a function that sends a GET with HTTP/2.
func sender(t *testing.T, network, address string) func(ctx context.Context, host, path, token, origin string) *http.Response {
	transport := http2To(t, network, address)
	return func(ctx context.Context, host, path, token, origin string) *http.Response {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
}

// http2To returns the transport to an address.
func http2To(t *testing.T, network, address string) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// wantEvents checks that the stream has the list now and after a change, and that
// a program of the files is in it until the runner has ended.
func wantEvents(t *testing.T, w *world, resp *http.Response) {
	t.Helper()
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	next := func() (l wire.List) {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &l); err != nil {
					t.Fatal(err)
				}
				return l
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return l
	}
	if l := next(); len(l.Servers) != 1 || l.Servers[0].State != wire.StateStopped {
		t.Errorf("first event %+v", l)
	}
	began := time.Now()
	if err := w.client.Restart(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	events := 0
	for running := false; !running; events++ {
		running = next().Servers[0].State == wire.StateRunning
	}
	if limit := int(time.Since(began)/(50*time.Millisecond)) + 2; events > limit {
		t.Errorf("%d events in %v", events, time.Since(began))
	}
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && !strings.Contains(data, `"name":"one"`) {
			t.Errorf("event while the runner ends: %s", data)
		}
	}
}

// TestOneRunnerPerDirectory checks that a second runner with the directory does
// not start, and that one with another directory leaves the first alone.
func TestOneRunnerPerDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mock(t, "one", `,"start":"eager"`))
	w.start(t)
	first := w.await(t, "one", wire.StateRunning)
	other := newWorld(t, mock(t, "one", `,"start":"eager"`))
	other.start(t)
	other.await(t, "one", wire.StateRunning)
	second := newWorld(t, mock(t, "one", ""))
	second.config.State = w.state
	second.start(t)
	<-second.ended
	if !strings.Contains(second.log.String(), "another runner uses") {
		t.Errorf("the log lacks the reason:\n%s", second.log)
	}
	if now, _ := w.record(t, "one"); now.Starts != first.Starts || now.State != wire.StateRunning {
		t.Errorf("the first runner's server: %+v", now)
	}
}
