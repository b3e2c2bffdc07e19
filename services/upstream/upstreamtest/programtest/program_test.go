//go:build unix

package programtest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

const (
	handshake = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	echo      = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`
	discover  = `{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
)

// program is a running program.
type program struct {
	t       *testing.T
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	trouble *bufio.Reader
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{t: t, command: exec.CommandContext(t.Context(), os.Args[0], append([]string{Argument}, args...)...)}
	out, err := p.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	trouble, err := p.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.in, err = p.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	p.out, p.trouble = bufio.NewReader(out), bufio.NewReader(trouble)
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.command.Process.Kill() // it may have ended
		_, _ = p.command.Process.Wait()
	})
	return p
}

func (p *program) send(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.in, line+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *program) expect(parts ...string) string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("no line with %q: %v", parts, err)
	}
	for _, part := range parts {
		if !strings.Contains(line, part) {
			p.t.Fatalf("line %s, want %s", line, part)
		}
	}
	return line
}

// ends waits for the end of the program, which must have this status.
func (p *program) ends(status int) {
	p.t.Helper()
	state, err := p.command.Process.Wait()
	if err != nil || state.ExitCode() != status {
		p.t.Fatalf("ended with %v, %v, want status %d", state, err, status)
	}
}

func TestBehaves(t *testing.T) {
	p := start(t)
	p.send(handshake)
	p.expect(`"id":1`, `"protocolVersion":"2025-11-25"`)
	p.send(echo)
	p.expect(`"id":2`, `"text":"x"`)
	p.send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"process"}}`)
	var got struct {
		Result struct{ StructuredContent Process }
	}
	if err := json.Unmarshal([]byte(p.expect(`"id":4`)), &got); err != nil {
		t.Fatal(err)
	}
	if s := got.Result.StructuredContent; s.PID != p.command.Process.Pid || s.Parent != os.Getpid() || len(s.Environment) == 0 || s.Arguments[1] != Argument || s.Directory == "" || len(s.Descriptors) < 3 {
		t.Errorf("process = %+v", s)
	}
	p.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"line","arguments":{"bytes":10000}}}`)
	if got := len(p.expect(`"id":5`)); got != 10_001 {
		t.Errorf("line of %d bytes with its end", got)
	}
	p.send(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"roots"}}`)
	p.expect(`"method":"roots/list"`, `"id":"server-1"`)
	p.send(`{"jsonrpc":"2.0","id":"server-1","result":{"roots":[]}}`)
	p.expect(`"id":6`, `{\"roots\":[]}`)
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	p.ends(0)
}

func TestQuestionsOfTheStatelessRevision(t *testing.T) {
	p := start(t)
	meta := discover[strings.Index(discover, `"_meta"`) : len(discover)-2]
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask",` + meta + `}}`)
	p.expect(`"resultType":"input_required"`, `"inputRequests":{"it":{"method":"elicitation/create"`)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","inputResponses":{"it":{"action":"accept"}},` + meta + `}}`)
	p.expect(`"id":2`, `{\"action\":\"accept\"}`)
}

func TestCrashes(t *testing.T) {
	start(t, "-crash", "start", "-code", "7").ends(7)

	p := start(t, "-crash", "2", "-code", "3")
	p.send(handshake)
	p.expect(`"id":1`)
	p.send(discover)
	if line, _ := p.trouble.ReadString('\n'); !strings.Contains(line, "crash at message 2") {
		t.Errorf("stderr %q", line)
	}
	p.ends(3)

	p = start(t, "-crash", "call")
	p.send(handshake, discover)
	p.expect(`"id":`)
	p.expect(`"id":`)
	p.send(echo)
	p.ends(1)
}

func TestProbe(t *testing.T) {
	p := start(t, "-probe", "die")
	p.send(discover)
	p.ends(1)

	p = start(t, "-probe", "silent")
	p.send(discover, handshake)
	p.expect(`"id":1`) // nothing for discover
}

func TestOutput(t *testing.T) {
	p := start(t, "-garbage", "2")
	p.send(handshake)
	p.expect("not a message")
	p.expect("not a message")
	p.expect(`"id":1`)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"line","arguments":{"bytes":10000}}}`)
	p.expect("not a message")
	p.expect("not a message")
	p.expect(`"id":2`, "}\n") // in one piece, although it is larger than a buffer

	p = start(t, "-flood", "stdout:100000")
	flood := 0
	p.send(handshake)
	for flood < 100_000 {
		line, err := p.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(line, "{") {
			flood += len(line)
		}
	}
	if flood != 100_000 {
		t.Errorf("flood of %d bytes", flood)
	}

	p = start(t, "-flood", "stderr")
	if n, err := io.CopyN(io.Discard, p.trouble, 1<<20); n != 1<<20 {
		t.Errorf("%d bytes on stderr, %v", n, err)
	}

	p = start(t, "-hold")
	if rest, err := io.ReadAll(p.out); len(rest) > 0 || err != nil {
		t.Errorf("output %q, %v", rest, err)
	}
	if err := p.command.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the program has ended: %v", err)
	}
}

func TestInput(t *testing.T) {
	p := start(t, "-unread", "1")
	p.send(handshake, echo)
	p.expect(`"id":1`)
	stuck := strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/x"}`+"\n", 100)
	blocked := make(chan struct{})
	go func() {
		for range 1_000 { // more than a pipe and the buffer of the program hold
			if _, err := io.WriteString(p.in, stuck); err != nil {
				close(blocked)
				return
			}
		}
	}()
	select {
	case <-blocked:
		t.Error("the program closed its input")
	case <-time.After(50 * time.Millisecond):
	}
	if err := p.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-blocked
}

func TestStart(t *testing.T) {
	p := start(t, "-start", "50ms")
	began := time.Now()
	p.send(handshake)
	if line, _ := p.trouble.ReadString('\n'); line != "mockmcp: starting, 50ms\n" {
		t.Errorf("stderr %q", line)
	}
	p.expect(`"id":1`)
	if took := time.Since(began); took < 40*time.Millisecond {
		t.Errorf("started after %v", took)
	}
}

// TestChildren verifies that children of every kind survive the program.
func TestChildren(t *testing.T) {
	p := start(t, "-fork", strings.Join(forkModes(), ","), "-survive")
	var children []int
	for range forkModes() {
		line, err := p.trouble.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]))
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		children = append(children, pid)
	}
	t.Cleanup(func() {
		for _, pid := range children {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	})
	if n := len(slices.Compact(slices.Sorted(slices.Values(children)))); n != len(forkModes()) {
		t.Fatalf("children %v", children)
	}
	p.send(handshake)
	p.expect(`"id":1`)
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range append(children, p.command.Process.Pid) {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
	}
	alive := func(pid int) bool { return syscall.Kill(pid, 0) == nil }
	time.Sleep(50 * time.Millisecond) // shows that nothing happens
	for _, pid := range append(children, p.command.Process.Pid) {
		if !alive(pid) {
			t.Errorf("process %d ended at SIGTERM", pid)
		}
	}
}

func TestInvalidFlags(t *testing.T) {
	for _, args := range []string{
		"-crash never", "-crash 0", "-probe x", "-flood disk", "-flood stdout:0", "-fork twin", "-unread -2", "-garbage -1", "-start -1s", "-code 256", "-era 1", "-no",
	} {
		start(t, strings.Fields(args)...).ends(1)
	}
}
