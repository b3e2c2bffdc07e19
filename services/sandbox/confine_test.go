package sandbox_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcpgateway/services/sandbox"
)

// probeCommand tries, in a child of the test, what hostile code could do
// outside the engine.
const probeCommand = "confined-probe"

func probe() int {
	granted, err := sandbox.Confine()
	if err != nil {
		fmt.Println("confine:", err)
		return 1
	}
	fmt.Println("granted:", strings.Join(granted, ", "))
	try := func(name string, err error) { fmt.Printf("%s: %v\n", name, err) }
	_, err = os.Open("/etc/passwd")
	try("open", err)
	_, err = os.Create(filepath.Join(os.TempDir(), "confined-probe-file"))
	try("create", err)
	conn, err := net.Dial("tcp", "127.0.0.1:1")
	if err == nil {
		conn.Close()
	}
	try("dial", err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		l.Close()
	}
	try("listen", err)
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err == nil {
		u.Close()
	}
	try("udp", err)
	try("exec", exec.Command("/bin/true").Run())
	return 0
}

func TestConfinedFilesAndSockets(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // only the engine confines code on this system
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), self, probeCommand)
	command.Env = []string{}
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("\n%s", out)
	for _, name := range []string{"open", "create", "dial", "listen", "udp", "exec"} {
		i := strings.Index(string(out), "\n"+name+": ")
		if i < 0 {
			t.Errorf("%s was not tried", name)
			continue
		}
		line, _, _ := strings.Cut(string(out)[i+1:], "\n")
		refused := strings.Contains(line, "operation not permitted") || strings.Contains(line, "permission denied") || strings.Contains(line, "too many open files")
		if !refused {
			t.Errorf("%s", line)
		}
	}
}

func TestChildExitsWithGateway(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A child also exits when its input ends while its code never does.
	child := exec.CommandContext(t.Context(), self, sandbox.WorkerCommand)
	child.Env = []string{}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(sandbox.StartFrame("for (;;) {}", time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = child.Wait() // with any exit status
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("the child outlived its input")
		_ = child.Process.Kill()
		<-ended
	}
}
