//go:build unix

package rawconn_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/services/rawconn"
)

// asServer is set in processes that are to be the server of
// TestOthersAreHeardWhileOneComputes.
const asServer = "RAWCONN_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		serveComputing()
		return
	}
	os.Exit(m.Run())
}

// serveComputing says where it listens, and answers each byte that it gets with
// another one: for a c, it computes until somebody else has sent an r. It ends
// with its standard input, and so with the test, however that ends.
func serveComputing() {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString(l.Addr().String() + "\n")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	var released atomic.Bool
	pace := rawconn.NewPace()
	for {
		accepted, err := l.Accept()
		if err != nil {
			panic(err)
		}
		go func() {
			c, p := rawconn.New(accepted, pace), make([]byte, 1)
			for {
				if _, err := c.Read(p); err != nil {
					return
				}
				switch p[0] {
				case 'c':
					for !released.Load() { // without a call, an allocation or a pause
					}
					released.Store(false)
				case 'r':
					released.Store(true)
				}
				_, _ = c.Write(p)
			}
		}()
	}
}

// TestOthersAreHeardWhileOneComputes has a server that had nothing to do compute
// for one client until it hears another one. Nobody looks for what others send
// then but a thread of the scheduler, which sleeps while there is nothing to do.
func TestOthersAreHeardWhileOneComputes(t *testing.T) {
	server := exec.CommandContext(t.Context(), os.Args[0])
	server.Env = append(os.Environ(), asServer+"=1")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var clients [2]net.Conn
	for i := range clients {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimSpace(address))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(30 * time.Second))
		clients[i] = c
	}
	answered := func(i int) {
		t.Helper()
		if _, err := io.ReadFull(clients[i], make([]byte, 1)); err != nil {
			t.Fatalf("client %d was not answered: %v", i, err)
		}
	}
	for round := range 24 {
		time.Sleep(30 * time.Millisecond) // for the server to have nothing to do
		if round%2 == 1 {                 // for one that heard something a moment ago
			want(t, clients[0], "x")
			answered(0)
			time.Sleep(2 * time.Millisecond)
		}
		want(t, clients[0], "c")
		want(t, clients[1], "r")
		answered(0)
		answered(1)
	}
}
