//go:build chaos

package oauthclient_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/upstream"
)

// replicaVariable is the environment variable that turns the test binary into
// a gateway process on the database with its value.
const replicaVariable = "OAUTHCLIENT_REPLICA"

// peopleVariable is the environment variable that makes the process call as
// people.
const peopleVariable = "OAUTHCLIENT_REPLICA_PEOPLE"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(replicaVariable); dsn != "" {
		run := replica
		if os.Getenv(peopleVariable) != "" {
			run = peopleReplica
		}
		if err := run(dsn); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// replica calls the server continuously until the process is killed, and prints
// the result of each call.
func replica(dsn string) error {
	ctx := context.Background()
	w, _, err := open(ctx, dsn, options{now: wallClock, timeout: time.Second})
	if err != nil {
		return err
	}
	go func() { _ = w.feed.Run(ctx) }()
	go w.Run(ctx)
	var server models.Server
	if err := w.db.First(&server, "id = ?", serverID).Error; err != nil {
		return err
	}
	client := &http.Client{Timeout: 5 * time.Second}
	for range time.Tick(20 * time.Millisecond) {
		if err := callServer(ctx, client, w, server); err != nil {
			fmt.Println("refused", err)
		} else {
			fmt.Println("good")
		}
	}
	return nil
}

// callServer sends a request with the token, and retries it once if the token
// is rejected.
func callServer(ctx context.Context, client *http.Client, w *world, server models.Server) error {
	token, err := w.Token(ctx, server, "")
	for attempt := 0; err == nil; attempt++ {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token.Reveal())
		var resp *http.Response
		if resp, err = client.Do(req); err != nil {
			return err
		}
		_ = resp.Body.Close()
		switch {
		case resp.StatusCode == 200:
			return nil
		case resp.StatusCode != 401 || attempt == 1:
			return fmt.Errorf("HTTP %d", resp.StatusCode)
		}
		var next upstream.Credentials
		next, err = w.Refused(ctx, server, "", upstream.Credentials{Bearer: token}, &upstream.Challenge{Status: 401, WWWAuthenticate: resp.Header.Values("WWW-Authenticate")})
		token = next.Bearer
	}
	return err
}

// fleet holds the replicas. A killed replica is replaced.
type fleet struct {
	t   *testing.T
	dsn string

	people bool // see peopleReplica

	mu      sync.Mutex
	running []*exec.Cmd
	ended   bool
	waits   sync.WaitGroup
	good    int
	refused map[string]int
	killed  int
}

func (f *fleet) start(n int) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), replicaVariable+"="+f.dsn)
	if f.people {
		cmd.Env = append(cmd.Env, peopleVariable+"=1")
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		f.t.Error(err)
		return
	}
	f.running[n] = cmd
	f.waits.Go(func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			f.mu.Lock()
			if why, ok := strings.CutPrefix(lines.Text(), "refused "); ok {
				f.refused[why]++
			} else {
				f.good++
			}
			f.mu.Unlock()
		}
		_ = cmd.Wait() // killed
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.ended {
			f.start(n)
		}
	})
}

// kill kills replicas abruptly, like a power failure.
func (f *fleet) kill(which ...int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range which {
		_ = f.running[n].Process.Kill()
		f.killed++
	}
}

// TestChaos runs two gateway processes with an authorization server that fails
// in every way during refreshes, and kills the processes during them. No
// connection may be lost, each token is refreshed once, and only invalid_grant
// requires an administrator.
//
// The authorization server accepts a used refresh token for some seconds with
// the same response, as rotating servers must: otherwise a lost response can't
// be distinguished from a stolen token.
func TestChaos(t *testing.T) {
	const life, rounds = 3, 3
	dsn := modelstest.Postgres(t)
	p := newProvider(t)
	p.life, p.grace = life, 20*time.Second
	w := newWorld(t, dsn, p.mcp(), options{now: wallClock})
	w.connect(t)

	fleet := &fleet{t: t, dsn: dsn, refused: map[string]int{}, running: make([]*exec.Cmd, 2)}
	var renewals []time.Time // of new tokens, not repeated responses
	known := map[string]bool{}
	note := func() { // the caller must hold the provider's mutex
		for token, g := range p.refresh {
			if !g.used.IsZero() && !known[token] {
				known[token] = true
				renewals = append(renewals, g.used)
			}
		}
	}
	cut := func(rw http.ResponseWriter) {
		if c, _, err := http.NewResponseController(rw).Hijack(); err == nil {
			_ = c.Close()
		}
	}
	// lose processes a refresh and drops the response.
	lose := func(form url.Values) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if g := p.refresh[form.Get("refresh_token")]; g != nil && g.used.IsZero() {
			g.used, g.answer = time.Now(), p.issue("", p.owner[form.Get("refresh_token")])
		}
	}
	faults := []struct {
		name string
		do   func(rw http.ResponseWriter, form url.Values) bool
	}{
		{"500", func(rw http.ResponseWriter, _ url.Values) bool { rw.WriteHeader(500); return true }},
		{"cut before", func(rw http.ResponseWriter, _ url.Values) bool { cut(rw); return true }},
		{"cut after", func(rw http.ResponseWriter, form url.Values) bool { lose(form); cut(rw); return true }},
		{"slow", func(_ http.ResponseWriter, _ url.Values) bool { <-time.After(1500 * time.Millisecond); return false }},
		{"kill before", func(rw http.ResponseWriter, _ url.Values) bool { fleet.kill(0, 1); cut(rw); return true }},
		{"kill after", func(rw http.ResponseWriter, form url.Values) bool { lose(form); fleet.kill(0, 1); cut(rw); return true }},
		{"kill one", func(_ http.ResponseWriter, _ url.Values) bool { fleet.kill(rand.IntN(2)); return false }},
		{"429", func(rw http.ResponseWriter, _ url.Values) bool {
			rw.Header().Set("Retry-After", "1")
			rw.WriteHeader(429)
			return true
		}},
		{"page", func(rw http.ResponseWriter, _ url.Values) bool {
			_, _ = rw.Write([]byte("<html>maintenance</html>"))
			return true
		}},
	}
	var happened []string
	turn := 0
	p.set(func() {
		p.token = func(rw http.ResponseWriter, form url.Values) bool {
			if form.Get("grant_type") != "refresh_token" {
				return false
			}
			p.mu.Lock()
			mine := turn
			turn++
			p.mu.Unlock()
			// Every other refresh succeeds, so that each failure is recovered from.
			if mine%2 == 0 || mine/2 >= rounds*len(faults) {
				return false
			}
			fault := faults[mine/2%len(faults)]
			p.set(func() { happened = append(happened, fault.name) })
			return fault.do(rw, form)
		}
	})
	fleet.mu.Lock()
	fleet.start(0)
	fleet.start(1)
	fleet.mu.Unlock()
	stop := func() {
		fleet.mu.Lock()
		fleet.ended = true
		fleet.mu.Unlock()
		fleet.kill(0, 1)
		fleet.waits.Wait()
	}
	deadline := time.After(10 * time.Minute)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for get(p, func() int { return turn }) < 2*rounds*len(faults)+2 {
		if s := w.status(t); s.State != oauthclient.Connected && s.State != oauthclient.Degraded {
			stop()
			t.Fatalf("connection lost: %s (%s) %s", s.State, s.Reason, s.ErrorText)
		}
		p.set(note)
		select {
		case <-deadline:
			stop()
			t.Fatal("timeout")
		case <-tick.C:
		}
	}
	// Only invalid_grant requires an administrator.
	p.set(func() {
		p.token = func(rw http.ResponseWriter, _ url.Values) bool {
			respond(rw, 400, map[string]any{"error": "invalid_grant"})
			return true
		}
	})
	eventually(t, "state needs_reauth", func() bool { return w.status(t).State == oauthclient.NeedsReauth })
	stop()
	p.set(note)
	t.Logf("%d token requests, %d tokens, %d calls succeeded, %d failed, %d processes killed; faults: %s",
		p.grants("refresh_token"), len(renewals), fleet.good, total(fleet.refused), fleet.killed, strings.Join(happened, ", "))
	if len(happened) != rounds*len(faults) {
		t.Errorf("%d faults occurred", len(happened))
	}
	for i := 1; i < len(renewals); i++ {
		if gap := renewals[i].Sub(renewals[i-1]); gap < life*700*time.Millisecond {
			t.Errorf("two refreshes %v apart with a lifetime of %d s", gap, life)
		}
	}
	for why := range fleet.refused {
		if !strings.Contains(why, "invalid_grant") && strings.Contains(why, "administrator") {
			t.Errorf("call requires an administrator: %s", why)
		}
	}
}

func total(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}
