//go:build chaos

package oauthclient_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/upstream"
)

// Size of TestChaosPeople.
const (
	chaosPeople  = 200
	chaosServers = 3
	chaosCallers = 8 // of a replica
	chaosKills   = 12
	chaosLife    = 15 // seconds of an access token
)

// peopleReplica calls random servers as random people continuously until the
// process is killed, and prints the result of each call.
func peopleReplica(dsn string) error {
	ctx := context.Background()
	w, _, err := open(ctx, dsn, options{now: wallClock, timeout: 2 * time.Second})
	if err != nil {
		return err
	}
	go func() { _ = w.feed.Run(ctx) }()
	go w.Run(ctx)
	var servers []models.Server
	if err := w.db.Find(&servers).Error; err != nil {
		return err
	}
	var printing sync.Mutex
	for range chaosCallers {
		go func() {
			for range time.Tick(20 * time.Millisecond) {
				err := callAs(ctx, w, servers[rand.IntN(len(servers))], fmt.Sprint("person-", rand.IntN(chaosPeople)))
				printing.Lock()
				if err != nil {
					fmt.Println("refused", err)
				} else {
					fmt.Println("good")
				}
				printing.Unlock()
			}
		}()
	}
	select {}
}

var chaosClient = &http.Client{Timeout: 5 * time.Second}

// callAs sends a request with a person's token, and names the person to the
// server. It retries once if the token is rejected.
func callAs(ctx context.Context, w *world, server models.Server, user string) error {
	given, err := w.Credentials(ctx, server, user)
	for attempt := 0; err == nil; attempt++ {
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+given.Bearer.Reveal())
		req.Header.Set("X-Person", user)
		var resp *http.Response
		if resp, err = chaosClient.Do(req); err != nil {
			return err
		}
		_ = resp.Body.Close()
		switch {
		case resp.StatusCode == 200:
			return nil
		case resp.StatusCode != 401 || attempt == 1:
			return fmt.Errorf("HTTP %d", resp.StatusCode)
		}
		given, err = w.Refused(ctx, server, user, given, &upstream.Challenge{Status: 401, WWWAuthenticate: resp.Header.Values("WWW-Authenticate")})
		if err == nil && given.IsZero() {
			return errors.New("rejected")
		}
	}
	return err
}

// TestChaosPeople runs two gateway processes for 200 people with own accounts at
// three servers, whose refresh tokens rotate. Processes are killed all the time,
// also while authorization servers have consumed a refresh token and not yet
// responded. No connection may be lost, and no server may receive the token of
// another person or server.
func TestChaosPeople(t *testing.T) {
	dsn := modelstest.Postgres(t)
	var wrong atomic.Int64
	var providers []*provider
	for range chaosServers {
		p := newProvider(t)
		p.life, p.grace = chaosLife, time.Minute
		p.serve = func(_ http.ResponseWriter, r *http.Request) bool {
			token, known := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			p.mu.Lock()
			defer p.mu.Unlock()
			if r.URL.Path == "/mcp" && known && p.owner[token] != r.Header.Get("X-Person") {
				wrong.Add(1)
			}
			return false
		}
		providers = append(providers, p)
	}
	w := chaosWorld(t, dsn, providers)
	fleet := &fleet{t: t, dsn: dsn, refused: map[string]int{}, running: make([]*exec.Cmd, 2), people: true}
	killing := killDuringRefreshes(providers, fleet)
	fleet.mu.Lock()
	fleet.start(0)
	fleet.start(1)
	fleet.mu.Unlock()
	eventuallyWithin(t, 5*time.Minute, "all kills", func() bool { return killing.Load() >= chaosKills })
	fleet.mu.Lock()
	fleet.ended = true
	fleet.mu.Unlock()
	fleet.kill(0, 1)
	fleet.waits.Wait()

	lost := 0
	for _, server := range w.servers(t) {
		all, err := w.StatusesOf(t.Context(), server.ID)
		if err != nil || len(all) != chaosPeople {
			t.Fatalf("%d connections, %v", len(all), err)
		}
		for _, s := range all {
			if s.State != oauthclient.Connected && s.State != oauthclient.Degraded {
				lost++
				t.Logf("%s at %s: %s (%s) %s", s.UserID, s.ServerID, s.State, s.Reason, s.ErrorText)
			}
		}
	}
	// Everyone can still call with their own token.
	unable := w.unableToCall(t)
	refreshes := 0
	for _, p := range providers {
		refreshes += p.grants("refresh_token")
	}
	t.Logf("%d calls succeeded, %d failed, %d processes killed, %d refreshes; lost %d, unable to call %d, wrong tokens %d",
		fleet.good, total(fleet.refused), fleet.killed, refreshes, lost, unable, wrong.Load())
	if lost+unable != 0 || wrong.Load() != 0 || fleet.good < chaosPeople*chaosServers {
		t.Error("connections were lost, tokens were mixed up, or there were few calls")
	}
	for why, n := range fleet.refused {
		if strings.Contains(why, "needs your account") {
			t.Errorf("%d calls require the person: %s", n, why)
		}
	}
}

// chaosWorld returns a world with a personal server for each provider, at which
// all people have connected.
func chaosWorld(t *testing.T, dsn string, providers []*provider) *world {
	w := newWorld(t, dsn, providers[0].mcp(), options{now: wallClock, timeout: 10 * time.Second})
	w.configure(t, map[string]any{"connection": models.ConnectionPersonal})
	for i, p := range providers[1:] {
		next := w.server(t)
		next.ID = fmt.Sprint(serverID, i+2)
		next.Alias, next.AliasFold, next.URL = next.ID, next.ID, p.mcp()
		if err := w.db.Create(&next).Error; err != nil {
			t.Fatal(err)
		}
	}
	var group errgroup.Group
	group.SetLimit(8)
	for i := range chaosPeople {
		user := fmt.Sprint("person-", i)
		w.users(t, user)
		for _, server := range w.servers(t) {
			group.Go(func() error {
				_, err := w.Finish(t.Context(), visitAs(t, w.beginAs(t, server.ID, user), user))
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) servers(t *testing.T) (all []models.Server) {
	t.Helper()
	if err := w.db.Order("id").Find(&all).Error; err != nil {
		t.Fatal(err)
	}
	return all
}

// unableToCall returns the number of accounts with which no call succeeds within
// a minute.
func (w *world) unableToCall(t *testing.T) int {
	t.Helper()
	var unable atomic.Int64
	var group errgroup.Group
	group.SetLimit(8)
	deadline := time.Now().Add(time.Minute)
	for _, server := range w.servers(t) {
		for i := range chaosPeople {
			group.Go(func() error {
				err := errors.New("not called")
				for err != nil && time.Now().Before(deadline) {
					if err = callAs(t.Context(), w, server, fmt.Sprint("person-", i)); err != nil {
						<-time.After(max(fault.From(err).RetryAfter, 100*time.Millisecond))
					}
				}
				if err != nil {
					unable.Add(1)
					t.Log(err)
				}
				return nil
			})
		}
	}
	_ = group.Wait()
	return int(unable.Load())
}

// killDuringRefreshes kills a process during a refresh, every four seconds: in
// turn before the authorization server handles it, and before it responds. It
// returns the number of kills.
func killDuringRefreshes(providers []*provider, fleet *fleet) *atomic.Int64 {
	var kills atomic.Int64
	next := time.Now().Add(8 * time.Second)
	var mu sync.Mutex
	due := func() (kill bool) {
		mu.Lock()
		defer mu.Unlock()
		if kill = time.Now().After(next); kill {
			next = time.Now().Add(4 * time.Second)
		}
		return kill
	}
	for _, p := range providers {
		p.set(func() {
			p.token = func(rw http.ResponseWriter, form url.Values) bool {
				if form.Get("grant_type") != "refresh_token" || !due() {
					return false
				}
				n := kills.Add(1)
				if n%2 == 0 {
					p.mu.Lock()
					if g := p.refresh[form.Get("refresh_token")]; g != nil && g.used.IsZero() {
						g.used, g.answer = time.Now(), p.issue("", p.owner[form.Get("refresh_token")])
					}
					p.mu.Unlock()
				}
				which := []int{0, 1}
				if n%3 != 0 {
					which = slices.Delete(which, int(n%2), int(n%2)+1)
				}
				fleet.kill(which...)
				if c, _, err := http.NewResponseController(rw).Hijack(); err == nil {
					_ = c.Close()
				}
				return true
			}
		})
	}
	return &kills
}

func eventuallyWithin(t *testing.T, most time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(most)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("timeout waiting for: %s", what)
		}
		<-tick.C
	}
}
