package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcpgateway/services/background/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// start runs the command. It returns its URL and a function that stops it.
func start(t *testing.T, args ...string) (url string, stop func() (stderr string, err error)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, args, w, &stderr)
		w.Close()
		ended <- err
	}()
	t.Cleanup(cancel)
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("no URL: %v, %v", err, <-ended)
	}
	return strings.TrimSpace(line), func() (string, error) {
		cancel()
		err := <-ended
		return stderr.String(), err
	}
}

func TestFlags(t *testing.T) {
	for _, tc := range []struct {
		args   []string
		server string
		tools  int
	}{
		{nil, "mockmcp", 10},
		{[]string{"-tools", "3", "-era", "2025-06-18", "-path", "/x", "-page", "2", "-answer", "sse"}, "mockmcp", 3},
		{[]string{"-kind", "clock", "-era", "stateless"}, "clock", 5},
		{[]string{"-kind", "text", "-name", "mine", "-control", "-sessionless", "-latency", "1ms"}, "mine", 6},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			url, stop := start(t, append(tc.args, "-stats")...)
			tr := &http.Transport{}
			t.Cleanup(tr.CloseIdleConnections)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			cs, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: tr}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, err := range cs.Tools(ctx, nil) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != tc.tools || cs.InitializeResult().ServerInfo.Name != tc.server {
				t.Errorf("server %s with %d tools, want %s with %d", cs.InitializeResult().ServerInfo.Name, n, tc.server, tc.tools)
			}
			cs.Close()
			out, err := stop()
			if err != nil || !strings.HasPrefix(out, `{"requests":`) {
				t.Errorf("run() = %v with %q on stderr, want nil with the counters", err, out)
			}
		})
	}
}

func TestTokenAndHang(t *testing.T) {
	url, stop := start(t, "-token", "s3cret", "-hang", "list")
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	post := func(timeout time.Duration, token, body string) (int, error) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "*/*"} {
			r.Header.Set(name, value)
		}
		resp, err := (&http.Client{Transport: tr}).Do(r)
		if err != nil {
			return 0, err
		}
		resp.Body.Close()
		return resp.StatusCode, nil
	}
	if status, err := post(10*time.Second, "x", `{}`); status != 401 {
		t.Errorf("request with a wrong token: HTTP %d, %v, want 401", status, err)
	}
	if status, err := post(50*time.Millisecond, "s3cret", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); err == nil {
		t.Errorf("tools/list: HTTP %d, want a timeout", status)
	}
	if out, err := stop(); err != nil || out != "" {
		t.Errorf("run() = %v with %q on stderr, want nil with no output", err, out)
	}
}

func TestInvalidFlags(t *testing.T) {
	for _, args := range []string{
		"-era 2025", "-answer xml", "-hang never", "-kind none", "-tools -1", "-page -1", "-latency -1s", "-path x", "-no", "extra", "-stdio -crash x", "-addr 127.0.0.1:99999",
	} {
		if err := run(t.Context(), strings.Fields(args), io.Discard, io.Discard); err == nil {
			t.Errorf("run(%s) = nil error", args)
		}
	}
}

func TestSIGTERM(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests start no programs")
	}
	binary := filepath.Join(t.TempDir(), "mockmcp")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c := exec.CommandContext(t.Context(), binary, "-stats")
	c.Stderr = os.Stderr
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") || !strings.HasSuffix(line, "/mcp\n") {
		t.Errorf("first line %q, %v", line, err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("exit after SIGTERM: %v", err)
	}
	testStdio(t, binary)
}

// testStdio runs the command as a program.
func testStdio(t *testing.T, binary string) {
	c := exec.CommandContext(t.Context(), binary, "-stdio", "-kind", "program", "-tools", "1", "-era", "2025-06-18")
	c.Stderr = os.Stderr
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: c}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) < 2 || list.Tools[0].Name != "echo" {
		t.Errorf("tools = %+v, %v", list, err)
	}
	if err := cs.Close(); err != nil {
		t.Errorf("exit at the end of standard input: %v", err)
	}
}
