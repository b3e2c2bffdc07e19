package conn_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/web/conn"
)

// scriptedListener accepts the connections and errors of its channel.
type scriptedListener struct {
	steps chan any // net.Conn or error
}

func (l *scriptedListener) Accept() (net.Conn, error) {
	switch step := (<-l.steps).(type) {
	case net.Conn:
		return step, nil
	case error:
		return nil, step
	default:
		return nil, net.ErrClosed
	}
}

func (l *scriptedListener) Close() error   { return nil }
func (l *scriptedListener) Addr() net.Addr { return &net.TCPAddr{} }

// pipeFrom returns both ends of a connection from an address.
func pipeFrom(address string) (server net.Conn, client net.Conn) {
	server, client = net.Pipe()
	return &addressedConn{Conn: server, remote: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(address), 4000))}, client
}

type addressedConn struct {
	net.Conn
	remote net.Addr
}

func (c *addressedConn) RemoteAddr() net.Addr { return c.remote }

func TestAcceptRetriesTemporaryErrors(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		t.Run(errno.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const failures = 10 // 5 ms, 10 ms, … 640 ms, 1 s, 1 s
				inner := &scriptedListener{steps: make(chan any, failures+1)}
				for range failures {
					inner.steps <- &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", errno)}
				}
				server, client := pipeFrom("192.0.2.1")
				defer client.Close()
				inner.steps <- server
				var log bytes.Buffer
				listener := conn.NewListener(inner, conn.Limits{Log: slog.New(slog.NewTextHandler(&log, nil))})
				began := time.Now()
				conn, err := listener.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if took, want := time.Since(began), (5+10+20+40+80+160+320+640+1000+1000)*time.Millisecond; took != want {
					t.Errorf("Accept() took %v, want %v", took, want)
				}
				if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "accept failed") {
					t.Errorf("logged %d lines, want 1:\n%s", lines, log.String())
				}
			})
		})
	}
}

func TestAcceptReturnsPermanentErrors(t *testing.T) {
	inner := &scriptedListener{steps: make(chan any, 1)}
	inner.steps <- syscall.EBADF
	if _, err := conn.Listener(inner).Accept(); !errors.Is(err, syscall.EBADF) {
		t.Errorf("Accept() = %v, want EBADF", err)
	}
}

func TestCloseEndsAcceptRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &scriptedListener{steps: make(chan any, 1)}
		inner.steps <- syscall.EMFILE
		listener := conn.Listener(inner)
		ended := make(chan error, 1)
		go func() {
			_, err := listener.Accept()
			ended <- err
		}()
		synctest.Wait()
		began := time.Now()
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) || time.Since(began) != 0 {
			t.Errorf("Accept() = %v after %v, want net.ErrClosed at once", err, time.Since(began))
		}
	})
}

// offer connects from an address. It returns the connection, or the response if
// the listener rejected it.
func offer(t *testing.T, listener net.Listener, inner *scriptedListener, address string) (admitted net.Conn, refusal string) {
	t.Helper()
	server, client := pipeFrom(address)
	t.Cleanup(func() { _ = client.Close() })
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := listener.Accept()
		if err == nil {
			accepted <- c
		}
	}()
	read := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(client)
		read <- string(b)
	}()
	inner.steps <- server
	select {
	case c := <-accepted:
		return c, ""
	case refusal = <-read:
		marker, _ := pipeFrom("203.0.113.99") // ends the Accept
		inner.steps <- errors.New("end")
		_ = marker.Close()
		return nil, refusal
	}
}

func TestConnectionLimits(t *testing.T) {
	exempt := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8")}
	tests := []struct {
		name   string
		limits conn.Limits
		from   func(n int) string
		want   int // admitted connections out of 6
	}{
		{"no limits", conn.Limits{}, func(int) string { return "192.0.2.1" }, 6},
		{"total", conn.Limits{Max: 3}, func(n int) string { return fmt.Sprintf("192.0.2.%d", n) }, 3},
		{"of one address", conn.Limits{Max: 6, MaxPerAddress: 3}, func(int) string { return "192.0.2.1" }, 3},
		{"of a mapped address", conn.Limits{MaxPerAddress: 3}, func(n int) string { return []string{"192.0.2.1", "::ffff:192.0.2.1"}[n%2] }, 3},
		{"of several addresses", conn.Limits{MaxPerAddress: 3}, func(n int) string { return fmt.Sprintf("192.0.2.%d", n%2) }, 6},
		{"of one /64", conn.Limits{MaxPerAddress: 3}, func(n int) string { return fmt.Sprintf("2001:db8::%d", n) }, 3},
		{"of several /64", conn.Limits{MaxPerAddress: 3}, func(n int) string { return fmt.Sprintf("2001:db8:0:%d::1", n) }, 6},
		{"of a trusted proxy", conn.Limits{MaxPerAddress: 3, Exempt: exempt}, func(int) string { return "10.1.2.3" }, 6},
		{"of a trusted proxy on loopback", conn.Limits{MaxPerAddress: 3, Exempt: exempt}, func(int) string { return "127.0.0.1" }, 6},
		{"of loopback", conn.Limits{MaxPerAddress: 3}, func(int) string { return "127.0.0.1" }, 3},
		{"total with a trusted proxy", conn.Limits{Max: 4, MaxPerAddress: 3, Exempt: exempt, Help: "https://gateway.example/help"}, func(int) string { return "10.1.2.3" }, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inner := &scriptedListener{steps: make(chan any)}
			listener := conn.NewListener(inner, tt.limits)
			var open []net.Conn
			for n := range 6 {
				conn, refusal := offer(t, listener, inner, tt.from(n))
				if admitted := conn != nil; admitted != (n < tt.want) {
					t.Fatalf("connection %d of %d: admitted %v", n+1, tt.want, admitted)
				}
				if conn != nil {
					open = append(open, conn)
					continue
				}
				if !strings.HasPrefix(refusal, "HTTP/1.1 503 ") || !strings.Contains(refusal, "\r\nRetry-After: 5\r\n") || !strings.Contains(refusal, "\r\nConnection: close\r\n") || !strings.Contains(refusal, `"code":"UNAVAILABLE"`) {
					t.Fatalf("connection %d was rejected with %q", n+1, refusal)
				}
				if help := tt.limits.Help; help != "" && !strings.HasSuffix(refusal, `"help":"`+help+`"}`) {
					t.Fatalf("connection %d was refused with %q, want the address of the code", n+1, refusal)
				}
			}
			if len(open) == 6 {
				return
			}
			_ = open[0].Close()
			_ = open[0].Close() // must not free another slot
			if conn, _ := offer(t, listener, inner, tt.from(0)); conn == nil {
				t.Fatal("closed connection still counts")
			}
			if conn, _ := offer(t, listener, inner, tt.from(0)); conn != nil {
				t.Fatal("closing a connection twice freed two slots")
			}
		})
	}
}
