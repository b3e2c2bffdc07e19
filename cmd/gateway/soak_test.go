//go:build soak

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
)

const (
	soakVariable    = "SOAK_CALLS"
	soakCalls       = 1_000_000
	soakConnections = 8
	soakWarmUp      = 20_000
	soakSample      = 500 * time.Millisecond
	soakGrowth      = 0.10            // maximum growth of resident memory
	soakSettle      = 3 * time.Minute // for idle connections and their goroutines to end
)

// reading is a sample of the process's metrics.
type reading struct {
	resident   float64 // bytes
	goroutines float64
	lost       float64 // calls missing from the call log
}

// read returns a sample of the replica's metrics.
func (r *replica) read(ctx context.Context) (reading, error) {
	_, _, body, err := send(ctx, http.MethodGet, r.base+"/metrics", "", nil)
	if err != nil {
		return reading{}, err
	}
	var now reading
	wanted := map[string]*float64{"process_resident_memory_bytes": &now.resident, "go_goroutines": &now.goroutines, "gateway_calls_lost_total": &now.lost}
	for line := range strings.Lines(string(body)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if at := wanted[name]; at != nil {
			if *at, err = strconv.ParseFloat(value, 64); err != nil {
				return reading{}, err
			}
			delete(wanted, name)
		}
	}
	if len(wanted) > 0 {
		return reading{}, fmt.Errorf("no %v in the metrics", wanted)
	}
	return now, nil
}

// soak sends n calls on a few connections and returns the median resident
// memory of the last fifth.
func (r *replica) soak(t *testing.T, key string, calls int) (resident float64, took time.Duration) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: soakConnections}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	var made, done atomic.Int64
	var calling sync.WaitGroup
	failed := make(chan error, soakConnections)
	began := time.Now()
	for range soakConnections {
		calling.Go(func() {
			for n := made.Add(1); n <= int64(calls); n = made.Add(1) {
				if err := echo(t.Context(), client, r.base, key, n); err != nil {
					failed <- fmt.Errorf("call %d: %w", n, err)
					return
				}
				done.Add(1)
			}
		})
	}
	var samples []float64
	over := make(chan struct{})
	go func() { calling.Wait(); close(over) }()
	tick := time.NewTicker(soakSample)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-over:
			running = false
		case <-tick.C:
		}
		if 5*done.Load() < 4*int64(calls) && running {
			continue
		}
		now, err := r.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, now.resident)
	}
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	slices.Sort(samples)
	return samples[len(samples)/2], time.Since(began)
}

// echo sends one call.
func echo(ctx context.Context, client *http.Client, base, key string, n int64) error {
	text := strconv.FormatInt(n, 10)
	request, err := mcpRequest(ctx, base, "keyed", `{"jsonrpc":"2.0","id":`+text+`,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":"soak `+text+`"}}}`, map[string]string{"Authorization": "Bearer " + key})
	if err != nil {
		return err
	}
	status, _, body, err := exchange(client, request)
	if err == nil && (status != http.StatusOK || !bytes.Contains(body, []byte(`"soak `+text+`"`))) {
		err = fmt.Errorf("status %d: %.300s", status, body)
	}
	return err
}

// TestSoak sends a large number of calls and checks that memory doesn't grow
// and no call is missing from the call log.
func TestSoak(t *testing.T) {
	calls := soakCalls
	if given := os.Getenv(soakVariable); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n < 2 {
			t.Fatalf("%s = %q, want a number of calls", soakVariable, given)
		}
		calls = n
	}
	s := &stage{root: moduleRoot(t), folder: t.TempDir()}
	s.binary = s.build(t, "gateway", "./cmd/gateway")
	address, dsn := freeAddress(t), "sqlite:"+filepath.Join(s.folder, "gateway.db")
	up := startProcess(t, program{
		name: "mockmcp", path: s.build(t, "mockmcp", "./cmd/mockmcp"), args: []string{"-addr", address}, dir: s.folder, env: bareEnvironment(s.folder),
	})
	eventually(t, readyLimit, "the upstream listens", accepts(address), up)
	r := newReplica(t, s.binary, "gateway", dsn)
	r.apply(t, map[string]any{"projects": map[string]any{"keyed": map[string]any{"authMode": "api_key", "mcpServers": map[string]any{"up": map[string]any{"url": "http://" + address + "/mcp"}}}}})
	key := strings.TrimSpace(r.command(t, "keys", "create", "--project", "keyed"))
	r.start(t)
	r.sync(t, "keyed")
	start, err := r.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.soak(t, key, soakWarmUp)
	var resident [2]float64
	var took [2]time.Duration
	for half := range resident {
		resident[half], took[half] = r.soak(t, key, calls/2)
	}
	growth := resident[1]/resident[0] - 1
	if growth > soakGrowth {
		t.Errorf("resident memory grew by %.1f %% from the first half to the second, want at most %.0f %%", 100*growth, 100*soakGrowth)
	}
	var end reading
	eventually(t, soakSettle, "the goroutines of the load are gone", func(ctx context.Context) error {
		if end, err = r.read(ctx); err == nil && end.goroutines > start.goroutines {
			err = fmt.Errorf("%.0f goroutines, %.0f at the start", end.goroutines, start.goroutines)
		}
		return err
	}, r.process)
	if end.lost != 0 {
		t.Errorf("%.0f calls missing from the call log", end.lost)
	}
	r.stop(t)
	var rows int64
	if err := modelstest.Open(t, dsn).Model(&models.Call{}).Count(&rows).Error; err != nil {
		t.Fatal(err)
	}
	if want := int64(soakWarmUp + calls/2*2); rows != want {
		t.Errorf("%d rows in the call log, want %d", rows, want)
	}
	info, err := os.Stat(strings.TrimPrefix(dsn, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	const mib = 1 << 20
	t.Logf(`
calls, after %d to warm up       %d in %v, %.0f per second
resident memory, first half         %.1f MiB
resident memory, second half        %.1f MiB (%+.1f %%)
goroutines, start and end           %.0f, %.0f
rows in the call log                %d
calls missing from the call log     %.0f
size of the database                %.0f MiB`,
		soakWarmUp, calls, (took[0] + took[1]).Round(time.Second), float64(calls)/(took[0]+took[1]).Seconds(),
		resident[0]/mib, resident[1]/mib, 100*growth, start.goroutines, end.goroutines, rows, end.lost, float64(info.Size())/mib)
}
