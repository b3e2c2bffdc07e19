package conn_test

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/web/conn"
)

// acceptedPipe returns a connection of the listener and its client's end.
func acceptedPipe(t *testing.T) (server, client net.Conn) {
	t.Helper()
	inner := &scriptedListener{steps: make(chan any, 1)}
	end, client := pipeFrom("192.0.2.1")
	inner.steps <- end
	server, err := conn.Listener(inner).Accept()
	if err != nil {
		t.Fatal(err)
	}
	return server, client
}

// TestWriteDeadline writes 1 MiB to clients that read slowly or not at all.
func TestWriteDeadline(t *testing.T) {
	const size = 1 << 20
	tests := []struct {
		name     string
		piece    int           // bytes per Write
		read     int           // bytes that the client reads
		every    time.Duration // interval of the reads
		complete bool
		within   time.Duration // limit of a failing write
	}{
		{"never reads", size, 1, time.Hour, false, 31 * time.Second},
		{"never reads small writes", 512, 1, time.Hour, false, 31 * time.Second},
		{"reads 64 KiB in 29 s", size, 64 << 10, 29 * time.Second, true, 0},
		{"reads 64 KiB in 32 s", size, 64 << 10, 32 * time.Second, false, 31 * time.Second},
		{"reads 4 KiB in 1 s of small writes", 4 << 10, 4 << 10, time.Second, true, 0},
		{"reads 4 KiB in 8 s of small writes", 4 << 10, 4 << 10, 8 * time.Second, false, 32 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, client := acceptedPipe(t)
				var reading sync.WaitGroup
				reading.Go(func() {
					for {
						time.Sleep(tt.every)
						if _, err := io.CopyN(io.Discard, client, int64(tt.read)); err != nil {
							return
						}
					}
				})
				began := time.Now()
				var err error
				for sent := 0; sent < size && err == nil; sent += tt.piece {
					_, err = server.Write(make([]byte, tt.piece))
				}
				took := time.Since(began)
				if tt.complete && err != nil {
					t.Errorf("failed after %v: %v", took, err)
				}
				if !tt.complete && (!errors.Is(err, os.ErrDeadlineExceeded) || took < 30*time.Second || took > tt.within) {
					t.Errorf("ended after %v with %v, want a timeout within %v", took, err, tt.within)
				}
				_ = server.Close()
				_ = client.Close()
				reading.Wait()
			})
		})
	}
}

// TestIdleConnectionCanBeWritten checks that the time between responses doesn't
// count.
func TestIdleConnectionCanBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := acceptedPipe(t)
		go func() { _, _ = io.Copy(io.Discard, client) }()
		for range 5 {
			if _, err := server.Write([]byte("response")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		_ = server.Close()
		_ = client.Close()
	})
}

// TestExplicitWriteDeadline checks that deadlines of streams take precedence.
func TestExplicitWriteDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := acceptedPipe(t)
		write := func(deadline time.Time) time.Duration {
			t.Helper()
			began := time.Now()
			if err := server.SetWriteDeadline(deadline); err != nil {
				t.Fatal(err)
			}
			if _, err := server.Write(make([]byte, 100)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("Write() = %v, want a timeout", err)
			}
			return time.Since(began)
		}
		if took := write(time.Now().Add(10 * time.Second)); took != 10*time.Second {
			t.Errorf("deadline in 10 s: write ended after %v", took)
		}
		if took := write(time.Unix(1, 0)); took != 0 {
			t.Errorf("deadline in the past: write ended after %v", took)
		}
		if took := write(time.Time{}); took > 31*time.Second {
			t.Errorf("no deadline: write ended after %v", took)
		}
		_ = server.Close()
		_ = client.Close()
	})
}
