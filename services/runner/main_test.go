//go:build linux || darwin

package runner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/runner"
	"mcpgateway/services/runner/control"
	"mcpgateway/services/runner/files"
	"mcpgateway/services/runner/keeper"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runners/wire"
	"mcpgateway/services/upstream/upstreamtest/programtest"
)

// The arguments with which this test binary is one of the processes of a runner,
// or the process that needs it.
const (
	asKeeper = "keeper" // keeper CONFIG
	asGuard  = "guard"
	asRunner = "runner"
	asLaunch = "launch"
)

// Variables of these processes.
const (
	callTime = "TEST_CALL_TIME" // of the runner: its Options.CallTime
	callAt   = "TEST_CALL_AT"   // of the keeper: the server of a call that hangs
)

func TestMain(m *testing.M) {
	programtest.Main()
	if len(os.Args) > 1 {
		if err := be(os.Args[1], os.Args[2:]); !errors.Is(err, errTests) {
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

var errTests = errors.New("run the tests")

// be runs this process as one of those of a runner.
func be(role string, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	switch role {
	case asKeeper:
		return keep(self, args[0])
	case asGuard:
		_, err := keeper.Guard(args[0], []string{self, asRunner}, func() {
			_ = runner.RemoveContainers(context.Background(), args[1], args[0], os.Environ())
		}, nil)
		return err
	case asRunner:
		var c keeper.Config
		if err := json.NewDecoder(os.Stdin).Decode(&c); err != nil {
			return err
		}
		log := slog.New(slog.NewTextHandler(os.Stderr, nil))
		calls, _ := time.ParseDuration(os.Getenv(callTime))
		return runner.Serve(context.Background(), runner.Options{Config: c, Launcher: []string{self, asLaunch}, Environ: os.Environ(), CallTime: calls, Log: log, Tasks: background.New(log)})
	case asLaunch:
		return process.Launch(args)
	}
	return errTests
}

// keep runs a keeper until SIGTERM, as the other end of its connection.
func keep(self, config string) error {
	var c keeper.Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	o := keeper.Options{Config: c, Guard: []string{self, asGuard}, Environ: os.Environ(), Stderr: os.Stderr, Log: log, Tasks: background.New(log)}
	attach := func(conn net.Conn) {
		client, err := wire.NewClient(context.Background(), conn)
		if err != nil {
			return
		}
		over := make(chan struct{})
		client.OnEnd(func() { close(over) })
		if name := os.Getenv(callAt); name != "" {
			resp, err := (&http.Client{Transport: client}).Do(sleeping(context.Background(), "http://runner", name, time.Hour))
			if err == nil {
				_ = resp.Body.Close()
			}
		}
		<-over
	}
	if c.Listen != "" {
		attach = nil
	}
	k, err := keeper.Start(context.Background(), o, attach)
	if err != nil {
		return err
	}
	<-ended
	k.Stop()
	return nil
}

// sleeping returns a call of revision 2026-07-28 that the program of a server
// responds to after some time.
func sleeping(ctx context.Context, base, name string, d time.Duration) *http.Request {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep","arguments":{"ms":%d},`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, d.Milliseconds())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+wire.PathServer+name+"/"+wire.SegmentMCP, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	for key, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "sleep",
	} {
		r.Header.Set(key, value)
	}
	return r
}

// world is a process that needs a runner, with its directory and file.
type world struct {
	state, file string
	config      keeper.Config
	cmd         *exec.Cmd
	log         *logged
	ended       chan struct{}
	client      *control.Client
}

// logged collects output.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// newWorld returns a world whose file has the servers. Its process is started by
// start.
func newWorld(t *testing.T, servers string) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "gw") // short: the path of a socket is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := &world{state: filepath.Join(dir, "state"), file: filepath.Join(home(t), "mcp.json")}
	w.write(t, servers)
	w.config = keeper.Config{State: w.state, Paths: []string{w.file}, Format: files.Local, Version: "test"}
	w.client = control.NewClient(w.state)
	t.Cleanup(w.client.Close)
	return w
}

// home returns a new directory that only this user can write, like its parents.
func home(t *testing.T) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(root, "test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// write replaces the file.
func (w *world) write(t *testing.T, servers string) {
	t.Helper()
	next := w.file + ".new"
	if err := os.WriteFile(next, []byte(`{"mcpServers":{`+servers+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, w.file); err != nil {
		t.Fatal(err)
	}
}

// mock returns the entry of a server that is this test binary. keys are further
// keys of the entry.
func mock(t *testing.T, name, keys string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(append([]string{programtest.Argument}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`%q:{"command":%q,"args":%s%s}`, name, self, raw, keys)
}

func (w *world) start(t *testing.T, environ ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(w.config)
	if err != nil {
		t.Fatal(err)
	}
	w.cmd = exec.CommandContext(context.Background(), self, asKeeper, string(config))
	w.cmd.Env = append(os.Environ(), environ...)
	w.log, w.ended = &logged{}, make(chan struct{})
	w.cmd.Stderr = w.log
	w.cmd.WaitDelay = 5 * time.Second
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, ended, log := w.cmd, w.ended, w.log
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if t.Failed() {
			t.Logf("log:\n%s", log)
		}
	})
}

const (
	patience  = 60 * time.Second
	pollEvery = 10 * time.Millisecond
)

// eventually waits until done returns an empty text, which else returns what is
// missing.
func eventually(t *testing.T, limit time.Duration, missing func() string) {
	t.Helper()
	ticks := time.NewTicker(pollEvery)
	defer ticks.Stop()
	deadline := time.After(limit)
	for {
		why := missing()
		if why == "" {
			return
		}
		select {
		case <-ticks.C:
		case <-deadline:
			t.Fatalf("after %v: %s", limit, why)
		}
	}
}

// record returns the record of a server, or why there is none.
func (w *world) record(t *testing.T, name string) (wire.Server, string) {
	l, err := w.client.List(t.Context())
	if err != nil {
		return wire.Server{}, err.Error()
	}
	for i := range l.Servers {
		if l.Servers[i].Name == name {
			return l.Servers[i], ""
		}
	}
	return wire.Server{}, fmt.Sprintf("%s is not among %d servers", name, len(l.Servers))
}

// await waits for a state of a server and returns its record.
func (w *world) await(t *testing.T, name string, state wire.State) (found wire.Server) {
	t.Helper()
	eventually(t, patience, func() string {
		s, missing := w.record(t, name)
		if missing == "" && s.State != state {
			missing = fmt.Sprintf("%s is %s: %s", name, s.State, s.Message)
		}
		found = s
		return missing
	})
	return found
}

// stat returns the parent and the name of a process, and whether it runs.
func stat(pid int) (parent int, name string, running bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, "", false
	}
	open, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	fields := strings.Fields(string(raw[end+1:]))
	_, _ = fmt.Sscan(fields[1], &parent)
	return parent, string(raw[open+1 : end]), fields[0] != "Z" && fields[0] != "X"
}

// children returns the running children of a process with a name, or all of them
// for an empty one.
func children(t *testing.T, of int, name string) (found []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		var pid int
		if n, _ := fmt.Sscan(e.Name(), &pid); n == 1 {
			if parent, is, running := stat(pid); running && parent == of && (name == "" || is == name) {
				found = append(found, pid)
			}
		}
	}
	return found
}

// tree returns the guard and the runner of the world.
func (w *world) tree(t *testing.T) (guard, runs int) {
	t.Helper()
	guards := children(t, w.cmd.Process.Pid, "gw-guard")
	if len(guards) != 1 {
		t.Fatalf("%d guards", len(guards))
	}
	runners := children(t, guards[0], "gw-runner")
	if len(runners) != 1 {
		t.Fatalf("%d runners", len(runners))
	}
	return guards[0], runners[0]
}
