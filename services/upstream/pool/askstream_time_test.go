package pool_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/upstream/pool"
)

// listenStream responds to GET with a stream that stays open until the client
// closes it, and passes other requests to counting. It sends the headers after
// a delay.
type listenStream struct {
	counting
	headers func(ctx context.Context)
	call    time.Duration // duration of a call
	mu      sync.Mutex
	log     []string
	open    []*io.PipeWriter
	start   time.Time
}

// breakOff closes all open streams.
func (s *listenStream) breakOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.open {
		_ = w.Close()
	}
}

func (s *listenStream) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprint(what, " ", time.Since(s.start)))
}

func (s *listenStream) noted() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

func (s *listenStream) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		if r.Header.Get("Mcp-Session-Id") != "" && r.Method == http.MethodPost {
			time.Sleep(s.call)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Result(), nil
	}
	if s.headers != nil {
		s.headers(r.Context())
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	s.note("open")
	reader, writer := io.Pipe()
	s.mu.Lock()
	s.open = append(s.open, writer)
	s.mu.Unlock()
	context.AfterFunc(r.Context(), func() {
		s.note("end")
		_ = writer.CloseWithError(r.Context().Err())
	})
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: reader, Request: r}, nil
}

func TestStreamEndsAfterLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &listenStream{counting: counting{seen: map[string]int{}}, start: time.Now()}
		p := pool.New(&http.Client{Transport: s}, "1")
		to := target("http://idle.example/mcp", within(10*time.Minute))
		call := func() {
			t.Helper()
			if _, err := p.Call(t.Context(), to, (&person{name: "ann"}).calls()); err != nil {
				t.Fatal(err)
			}
		}
		call()
		time.Sleep(30*time.Second - 1)
		if got := s.noted(); len(got) != 1 {
			t.Fatalf("a moment before 30 s: %q", got)
		}
		call() // the stream stays open for another 30 s
		time.Sleep(30*time.Second - 1)
		if got := s.noted(); len(got) != 1 {
			t.Fatalf("a moment before the second 30 s: %q", got)
		}
		time.Sleep(time.Nanosecond)
		if got, want := s.noted(), []string{"open 0s", "end 59.999999999s"}; !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		s.call = 5 * time.Minute
		call() // the stream stays open during a call of any duration
		if got := s.noted(); len(got) != 3 {
			t.Errorf("after a long call: %q", got)
		}
		p.Close()
		if got := s.noted(); len(got) != 4 {
			t.Errorf("after the end: %q", got)
		}
	})
}

func TestGetStreamReopensOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &listenStream{counting: counting{seen: map[string]int{}}, start: time.Now()}
		p := pool.New(&http.Client{Transport: s}, "1")
		defer p.Close()
		to := target("http://breaking.example/mcp", within(time.Hour))
		call := func(d time.Duration) {
			t.Helper()
			synctest.Wait()
			s.call = d
			if _, err := p.Call(t.Context(), to, (&person{name: "ann"}).calls()); err != nil {
				t.Fatal(err)
			}
		}
		opened := func() (n int) {
			for _, line := range s.noted() {
				if strings.HasPrefix(line, "open") {
					n++
				}
			}
			return n
		}
		call(0)
		s.breakOff()
		time.Sleep(59 * time.Second)
		if n := opened(); n != 1 {
			t.Errorf("opened %d times without a call", n)
		}
		began := time.Now()
		call(0)
		if n := opened(); n != 2 || time.Since(began) != 0 {
			t.Errorf("opened %d times, %s after the call", n, time.Since(began))
		}
		breaks := time.AfterFunc(30*time.Second, s.breakOff)
		defer breaks.Stop()
		call(40 * time.Second)
		if n := opened(); n != 3 {
			t.Errorf("opened %d times, want once more during the call", n)
		}
	})
}

func TestCallWaitsBrieflyForGetStream(t *testing.T) {
	for _, tc := range []struct {
		name   string
		delay  time.Duration
		waited []time.Duration // by each call
	}{
		{"just in time", 499 * time.Millisecond, []time.Duration{499 * time.Millisecond, 0, 0}},
		{"too late", 501 * time.Millisecond, []time.Duration{500 * time.Millisecond, 0, 0}},
		{"never", time.Hour, []time.Duration{500 * time.Millisecond, 0, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &listenStream{counting: counting{seen: map[string]int{}}, start: time.Now(), headers: func(ctx context.Context) {
					select {
					case <-time.After(tc.delay):
					case <-ctx.Done():
					}
				}}
				p := pool.New(&http.Client{Transport: s}, "1")
				defer p.Close()
				to := target("http://slow.example/mcp")
				for i, want := range tc.waited {
					began := time.Now()
					if _, err := p.Call(t.Context(), to, (&person{name: "ann"}).calls()); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(began); took != want {
						t.Errorf("call %d waited %s, want %s", i+1, took, want)
					}
				}
			})
		})
	}
}
