//go:build flood

package main_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	floodAnnouncers  = 1000 // connections that send one byte of their body
	floodDeaf        = 60   // clients that never read
	floodDeafBytes   = 8 << 20
	floodBatches     = 3
	floodBatchCalls  = 50
	floodBatchBytes  = 10 << 20 // of each result, without its envelope
	floodOthers      = 4        // clients that call continuously
	floodEvery       = 5 * time.Millisecond
	floodCalm        = 5 * time.Second
	floodLength      = 45 * time.Second // longer than the 30 s timeout of clients that don't read
	floodDescriptors = 1024
	floodMemory      = 700 << 20
	floodLatency     = 50 * time.Millisecond // p99
)

// flood is a gateway and its clients. Each kind of client has its own address.
type flood struct {
	*replica
	address string
	peak    atomic.Int64 // resident bytes

	mu                     sync.Mutex
	admitted, turned, late int // connections with incomplete bodies
	cut                    int // disconnected clients that never read
	outcomes               []string
}

// TestFlood floods the binary with 1,000 connections with incomplete bodies, 60
// clients that never read, and three batches of large results at once. The limit is
// 1,024 file descriptors. FLOOD_GATEWAY selects another binary for comparison.
func TestFlood(t *testing.T) {
	f := newFlood(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var watching sync.WaitGroup
	watching.Go(func() { f.watch(ctx) })
	before := f.resident(t)
	calm, failures := f.callAll(ctx, floodCalm)
	if len(failures) > 0 {
		t.Fatalf("call before the flood: %v", failures[0])
	}
	var flooding sync.WaitGroup
	flooded, stop := context.WithTimeout(ctx, floodLength)
	defer stop()
	for i := range floodAnnouncers {
		flooding.Go(func() { f.announce(flooded, i) })
	}
	for range floodDeaf {
		flooding.Go(func() { f.callWithoutReading(flooded) })
	}
	for range floodBatches {
		flooding.Go(func() { f.batch(flooded) })
	}
	busy, failures := f.callAll(ctx, floodLength)
	flooding.Wait()
	after := f.resident(t)
	cancel()
	watching.Wait()
	peak := f.peak.Load()
	t.Logf("resident memory: %.1f MiB before, peak %.1f MiB, %.1f MiB after", mib(before), mib(peak), mib(after))
	t.Logf("calls of other clients: p50 %v p99 %v max %v of %d before; p50 %v p99 %v max %v of %d during the flood, %d failed",
		quantile(calm, .5), quantile(calm, .99), quantile(calm, 1), len(calm), quantile(busy, .5), quantile(busy, .99), quantile(busy, 1), len(busy), len(failures))
	t.Logf("incomplete bodies: %d admitted, %d rejected with 503, %d late or without response; clients that never read: %d of %d disconnected; batches: %v", f.admitted, f.turned, f.late, f.cut, floodDeaf, f.outcomes)
	select {
	case <-f.ended:
		t.Fatalf("gateway exited: %v", f.err)
	default:
	}
	if peak >= floodMemory {
		t.Errorf("peak of resident memory = %.1f MiB, want less than %.1f MiB", mib(peak), mib(floodMemory))
	}
	if p99 := quantile(busy, .99); p99 >= floodLatency {
		t.Errorf("p99 of calls of other clients = %v, want less than %v", p99, floodLatency)
	}
	if len(failures) > 0 {
		t.Errorf("%d calls of other clients failed, first error: %v", len(failures), failures[0])
	}
	if f.cut != floodDeaf {
		t.Errorf("%d of %d clients that never read were disconnected, want all", f.cut, floodDeaf)
	}
	for _, outcome := range f.outcomes {
		if !strings.HasPrefix(outcome, "1 result, 49 RESULT_TOO_LARGE") {
			t.Errorf("outcome of a batch: %s", outcome)
		}
	}
	if err := f.respondsWith("/readyz", http.StatusOK)(t.Context()); err != nil {
		t.Error(err)
	}
}

func newFlood(t *testing.T) *flood {
	t.Helper()
	s := &stage{root: moduleRoot(t), folder: t.TempDir()}
	if s.binary = os.Getenv("FLOOD_GATEWAY"); s.binary == "" {
		s.binary = s.build(t, "gateway", "./cmd/gateway")
	}
	address := freeAddress(t)
	up := startProcess(t, program{
		name: "mockmcp", path: s.build(t, "mockmcp", "./cmd/mockmcp"), args: []string{"-addr", address, "-answer", "json"}, dir: s.folder, env: bareEnvironment(s.folder),
	})
	eventually(t, readyLimit, "the upstream listens", accepts(address), up)
	r := newReplica(t, s.binary, "gateway", "sqlite:"+filepath.Join(s.folder, "gateway.db"))
	r.apply(t, map[string]any{"projects": map[string]any{"open": map[string]any{"authMode": "none", "mcpServers": map[string]any{"up": map[string]any{"url": "http://" + address + "/mcp"}}}}})
	r.program.args = append([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, floodDescriptors), r.program.path}, r.program.args...)
	r.program.path = "/bin/sh"
	r.start(t)
	r.sync(t, "open")
	return &flood{replica: r, address: strings.TrimPrefix(r.base, "http://")}
}

// dial connects from a loopback address.
func (f *flood) dial(ctx context.Context, from string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	return d.DialContext(ctx, "tcp", f.address)
}

// announce sends requests with one byte of their bodies, in sequence.
func (f *flood) announce(ctx context.Context, i int) {
	path := []string{"/healthz", "/v1/mcp/open/request"}[i%2]
	for ctx.Err() == nil {
		status := f.announceOnce(ctx, path)
		f.mu.Lock()
		switch status {
		case 0:
			f.late++
		case http.StatusServiceUnavailable:
			f.turned++
		default:
			f.admitted++
		}
		f.mu.Unlock()
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

func (f *flood) announceOnce(ctx context.Context, path string) (status int) {
	conn, err := f.dial(ctx, "127.0.0.2")
	if err != nil {
		return 0
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: "+f.address+"\r\nContent-Type: application/json\r\nContent-Length: 1048000\r\n\r\n{"); err != nil {
		return 0
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// callWithoutReading requests a long result and waits until the connection is
// closed, without reading from it.
func (f *flood) callWithoutReading(ctx context.Context) {
	conn, err := f.dial(ctx, "127.0.0.3")
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	body := bigCall(1, floodDeafBytes)
	if _, err := fmt.Fprintf(conn, "POST /v1/mcp/open/request HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", f.address, len(body), body); err != nil {
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// After a disconnect, writing the next request fails.
		if _, err := conn.Write([]byte("\r\n")); err != nil {
			f.mu.Lock()
			f.cut++
			f.mu.Unlock()
			return
		}
	}
}

func bigCall(id, size int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"up__big","arguments":{"bytes":%d}}}`, id, size)
}

// batch sends one batch and reads its response.
func (f *flood) batch(ctx context.Context) {
	calls := make([]string, floodBatchCalls)
	for i := range calls {
		calls[i] = bigCall(i, floodBatchBytes-1024)
	}
	outcome := func() string {
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return f.dial(ctx, "127.0.0.4") }}}
		defer client.CloseIdleConnections()
		request, err := mcpRequest(ctx, f.base, "open", "["+strings.Join(calls, ",")+"]", nil)
		if err != nil {
			return err.Error()
		}
		response, err := client.Do(request)
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%d result, %d RESULT_TOO_LARGE, %.1f MiB, status %d", bytes.Count(body, []byte(`"result":`)), bytes.Count(body, []byte("RESULT_TOO_LARGE")), mib(int64(len(body))), response.StatusCode)
	}()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outcomes = append(f.outcomes, outcome)
}

// callAll calls a tool at a fixed rate and returns the latencies.
func (f *flood) callAll(ctx context.Context, length time.Duration) (took []time.Duration, failures []error) {
	var mu sync.Mutex
	var calling sync.WaitGroup
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	for range floodOthers {
		calling.Go(func() {
			client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return f.dial(ctx, "127.0.0.9") }}}
			defer client.CloseIdleConnections()
			tick := time.NewTicker(floodEvery)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				began := time.Now()
				err := f.call(client, n)
				mu.Lock()
				if took = append(took, time.Since(began)); err != nil {
					failures = append(failures, err)
				}
				mu.Unlock()
			}
		})
	}
	calling.Wait()
	return took, failures
}

func (f *flood) call(client *http.Client, n int) error {
	text := strconv.Itoa(n)
	request, err := mcpRequest(context.Background(), f.base, "open", `{"jsonrpc":"2.0","id":`+text+`,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"flood `+text+`"}}}`, nil)
	if err != nil {
		return err
	}
	status, _, body, err := exchange(client, request)
	if err == nil && (status != http.StatusOK || !bytes.Contains(body, []byte("flood "+text))) {
		err = fmt.Errorf("status %d: %.300s", status, body)
	}
	return err
}

// watch records the peak of resident memory until ctx is done.
func (f *flood) watch(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		if now, err := residentOf(f.cmd.Process.Pid); err == nil {
			f.peak.Store(max(f.peak.Load(), now))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (f *flood) resident(t *testing.T) int64 {
	t.Helper()
	now, err := residentOf(f.cmd.Process.Pid)
	if err != nil {
		t.Fatalf("gateway exited: %v", err)
	}
	return now
}

// residentOf returns the resident memory of a process, in bytes.
func residentOf(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("the process has no memory")
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }
