//go:build unix

package rawconn_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpgateway/services/rawconn"
)

// pair returns both ends of a TCP connection.
func pair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close(); accepted.Close() })
	return dialed.(*net.TCPConn), accepted.(*net.TCPConn)
}

// told is what a caller can tell of a read or write.
func told(n int, err error) string {
	says := fmt.Sprintf("%d bytes", n)
	if err == nil {
		return says
	}
	for name, kind := range map[string]error{
		"end": io.EOF, "deadline": os.ErrDeadlineExceeded, "closed": net.ErrClosed,
		"reset": syscall.ECONNRESET, "broken pipe": syscall.EPIPE,
	} {
		if errors.Is(err, kind) {
			says += ", " + name
		}
	}
	var timeout net.Error
	if errors.As(err, &timeout) {
		says += fmt.Sprintf(", timeout %v", timeout.Timeout())
	}
	var op *net.OpError
	if errors.As(err, &op) {
		says += fmt.Sprintf(", %s %s", op.Op, op.Net)
		if op.Source == nil || op.Addr == nil {
			says += ", without addresses"
		}
	}
	return says
}

// TestConnectionsBehaveLikeTheSystemsOwn does the same with a connection of New
// and one of package net.
func TestConnectionsBehaveLikeTheSystemsOwn(t *testing.T) {
	past := time.Unix(1, 0)
	for name, use := range map[string]func(t *testing.T, c net.Conn, other *net.TCPConn) string{
		"what is there": func(t *testing.T, c net.Conn, other *net.TCPConn) string {
			want(t, other, "hello")
			return told(c.Read(make([]byte, 5)))
		},
		"less than asked for": func(t *testing.T, c net.Conn, other *net.TCPConn) string {
			want(t, other, "hello")
			return told(c.Read(make([]byte, 100)))
		},
		"what comes later": func(t *testing.T, c net.Conn, other *net.TCPConn) string {
			time.AfterFunc(10*time.Millisecond, func() { _, _ = other.Write([]byte("late")) })
			return told(c.Read(make([]byte, 100)))
		},
		"no bytes": func(t *testing.T, c net.Conn, _ *net.TCPConn) string {
			return told(c.Read(nil)) + told(c.Write(nil))
		},
		"the end": func(t *testing.T, c net.Conn, other *net.TCPConn) string {
			if err := other.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			return told(c.Read(make([]byte, 5))) + told(c.Read(make([]byte, 5)))
		},
		"a reset": func(t *testing.T, c net.Conn, other *net.TCPConn) string {
			if err := errors.Join(other.SetLinger(0), other.Close()); err != nil {
				t.Fatal(err)
			}
			return told(c.Read(make([]byte, 5))) + told(c.Write([]byte("a")))
		},
		"a deadline that has passed": func(t *testing.T, c net.Conn, other *net.TCPConn) string {
			want(t, other, "hello")
			if err := c.SetDeadline(past); err != nil {
				t.Fatal(err)
			}
			return told(c.Read(make([]byte, 5))) + told(c.Write([]byte("a")))
		},
		"a deadline that passes": func(t *testing.T, c net.Conn, other *net.TCPConn) string {
			if err := c.SetDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			first := told(c.Read(make([]byte, 5)))
			if err := c.SetDeadline(time.Time{}); err != nil {
				t.Fatal(err)
			}
			want(t, other, "hello")
			return first + told(c.Read(make([]byte, 5)))
		},
		"a writer whom nobody reads": func(t *testing.T, c net.Conn, other *net.TCPConn) string {
			message := make([]byte, 64<<20)
			if err := c.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			n, err := c.Write(message)
			c.Close()
			if arrived, err := io.Copy(io.Discard, other); arrived != int64(n) || err != nil {
				t.Errorf("%d bytes were written, and %d arrived, %v", n, arrived, err)
			}
			return told(0, err) // how much the system takes is its own affair
		},
		"a closed connection": func(t *testing.T, c net.Conn, _ *net.TCPConn) string {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			return told(c.Read(make([]byte, 5))) + told(c.Write([]byte("a"))) + told(0, c.Close())
		},
		"one that is closed meanwhile": func(t *testing.T, c net.Conn, _ *net.TCPConn) string {
			time.AfterFunc(10*time.Millisecond, func() { c.Close() })
			return told(c.Read(make([]byte, 5)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			plain, other := pair(t)
			expected := use(t, plain, other)
			c, other := pair(t)
			if got := use(t, rawconn.New(c, rawconn.NewPace()), other); got != expected {
				t.Errorf("got  %s\nwant %s", got, expected)
			}
		})
	}
}

func want(t *testing.T, c net.Conn, says string) {
	t.Helper()
	if _, err := io.WriteString(c, says); err != nil {
		t.Fatal(err)
	}
}

// TestBytesArriveInOrder moves bodies of sizes around the ones at which calls of
// the system change, both ways at once, to a reader that is slower.
func TestBytesArriveInOrder(t *testing.T) {
	for _, size := range []int{1, 4<<10 - 1, 4 << 10, 16<<10 - 1, 16 << 10, 16<<10 + 1, 9 << 20} {
		a, b := pair(t)
		message := bytes.Repeat([]byte("0123456789abcde"), size/15+1)[:size]
		pace := rawconn.NewPace()
		ends := []net.Conn{rawconn.New(a, pace), rawconn.New(b, pace)}
		var wg sync.WaitGroup
		for _, end := range ends {
			wg.Go(func() {
				if n, err := end.Write(message); n != size || err != nil {
					t.Errorf("%d bytes: wrote %d, %v", size, n, err)
				}
			})
			wg.Go(func() {
				got := make([]byte, size)
				if _, err := io.ReadFull(end, got); err != nil || !bytes.Equal(got, message) {
					t.Errorf("%d bytes: read something else, %v", size, err)
				}
			})
		}
		wg.Wait()
	}
}

// TestConnectionsKeepWhatTheyWere gives New what has no socket, and uses the one
// beneath beside it.
func TestConnectionsKeepWhatTheyWere(t *testing.T) {
	pipe, other := net.Pipe()
	defer pipe.Close()
	defer other.Close()
	if c := rawconn.New(pipe, rawconn.NewPace()); c != pipe {
		t.Errorf("a connection without a socket became %T", c)
	}
	tcp, peer := pair(t)
	pace := rawconn.NewPace()
	c := rawconn.New(tcp, pace)
	raw := rawconn.Of(c)
	if raw == nil {
		t.Fatalf("%T has no socket", c)
	}
	want(t, peer, "a")
	var p [1]byte
	var err error
	if failed := raw.Read(func(fd uintptr) bool {
		var wait bool
		_, wait, err = pace.Read(int(fd), p[:])
		return !wait
	}); failed != nil || err != nil || p[0] != 'a' {
		t.Errorf("read %q, %v, %v", p, failed, err)
	}
}
