//go:build ha

package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpgateway/models/modelstest"
	"mcpgateway/services/upstream/upstreamtest"
)

const (
	kubeHost     = "gateway.example.com"
	kubeBase     = "http://" + kubeHost // an ingress ends TLS
	kubeToken    = "token-of-the-upstream"
	kubeAfter    = 1000 // calls after the rollout
	rolloutLimit = 2 * time.Minute
)

// rollout is the printed Deployment as processes: with the probes and signals of
// kubelets, the Service, and a rollout that replaces each pod.
type rollout struct {
	*deployment
	binary, folder string
	secret         map[string]string
	held           *upstreamtest.Server // its calls wait for release
	release        chan struct{}
	clients        []*haClient
	tally          *tally

	mu   sync.Mutex
	pods []*pod // all that were started
}

// TestReplicasOfKubernetesFile runs what `gateway print kubernetes` prints, and
// replaces every pod while clients call tools.
func TestReplicasOfKubernetesFile(t *testing.T) {
	r := newRollout(t)
	old := r.start(t, r.Spec.Replicas)
	r.addProject(t)
	r.connect(t)
	stop, cancel := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	for _, c := range r.clients {
		calling.Go(func() { r.keepCalling(t.Context(), c, stop.Done()) })
	}
	began := time.Now()
	fresh := r.replace(t, old)
	took := time.Since(began)
	enough := r.tally.completed() + kubeAfter
	eventually(t, readyLimit, "calls of the new pods", func(context.Context) error {
		if n := r.tally.completed(); n < enough {
			return fmt.Errorf("%d calls, want %d", n, enough)
		}
		return nil
	})
	cancel()
	calling.Wait()
	for _, p := range r.pods {
		p.check(t)
	}
	for _, p := range fresh {
		for _, c := range r.clients {
			if err := at(c, p.addresses["http"]).call(t.Context(), kubeBase, steadyServer, 0); err != nil {
				t.Errorf("%s at the end on %s: %v", c.name, p.name, err)
			}
		}
	}
	y := r.tally
	if y.cut != 0 || len(y.failed) != 0 {
		t.Errorf("%d calls lost their connection, others failed: %v, %v", y.cut, y.failed, y.samples)
	}
	t.Logf("%d pods replaced in %v; %d calls succeeded: p50 %v, p99 %v, maximum %v", len(old), took.Round(100*time.Millisecond), y.ok,
		y.percentile(.5).Round(100*time.Microsecond), y.percentile(.99).Round(100*time.Microsecond), y.percentile(1).Round(time.Millisecond))
}

// newRollout prints the Deployment with settings like those of the guide, and
// starts PostgreSQL.
func newRollout(t *testing.T) *rollout {
	t.Helper()
	cluster, err := modelstest.StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &stage{root: moduleRoot(t), folder: t.TempDir()}
	s.binary = s.build(t, "gateway", "./cmd/gateway")
	d := printDeployment(t, s, "GATEWAY_PUBLIC_URL=https://"+kubeHost, "GATEWAY_TRUSTED_PROXIES=127.0.0.0/8", "GATEWAY_EGRESS_ALLOW=127.0.0.0/8", "GATEWAY_LOG_LEVEL=warn", "GATEWAY_ADMIN_TOKEN=x")
	return &rollout{
		deployment: d, binary: s.binary, folder: s.folder, release: make(chan struct{}), tally: &tally{failed: map[string]int{}},
		secret: map[string]string{"gateway/database-url": cluster.URL, "gateway/secrets-keys": replicaKeys, "gateway/admin-token": replicaToken},
	}
}

// start starts n more pods and waits until they are ready.
func (r *rollout) start(t *testing.T, n int) []*pod {
	t.Helper()
	var started []*pod
	for range n {
		p := startPod(t, r.deployment, r.binary, fmt.Sprint("pod ", len(r.pods)), r.secret)
		r.mu.Lock()
		r.pods = append(r.pods, p)
		r.mu.Unlock()
		started = append(started, p)
	}
	for _, p := range started {
		eventually(t, rolloutLimit, p.name+" is ready", p.isReady, p.process)
	}
	return started
}

// endpoints returns the addresses to which the Service sends new connections.
func (r *rollout) endpoints() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var addresses []string
	for _, p := range r.pods {
		if p.isServing() {
			addresses = append(addresses, p.addresses["http"])
		}
	}
	return addresses
}

// addProject applies a project with two servers, one of which needs a token. All
// pods must decrypt it.
func (r *rollout) addProject(t *testing.T) {
	t.Helper()
	steady := upstreamtest.New(upstreamtest.Options{Token: kubeToken, Tools: []upstreamtest.Tool{upstreamtest.Echo(), upstreamtest.Sleep()}, Record: -1})
	r.held = upstreamtest.New(upstreamtest.Options{Tools: []upstreamtest.Tool{waitingTool(r.release)}})
	declared, err := json.Marshal(map[string]any{"projects": map[string]any{"keyed": map[string]any{"authMode": "api_key", "mcpServers": map[string]any{
		steadyServer: map[string]any{"url": steady.Start(t), "authType": "bearer", "authBearer": kubeToken},
		"held":       map[string]any{"url": r.held.Start(t)},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(r.folder, "declaration.json")
	if err := os.WriteFile(file, declared, 0o600); err != nil {
		t.Fatal(err)
	}
	r.command(t, "apply", "-f", file)
}

// command runs a command of the gateway with the environment of a pod.
func (r *rollout) command(t *testing.T, args ...string) string {
	t.Helper()
	return mustRun(t, program{name: "gateway " + args[0], path: r.binary, args: args, dir: r.folder, env: r.pods[0].program.env}, commandLimit)
}

// connect opens the sessions of the clients at the Service, once every pod accepts
// calls.
func (r *rollout) connect(t *testing.T) {
	t.Helper()
	service := strings.TrimPrefix(newCutter(t, r.endpoints).url, "http://")
	key := strings.TrimSpace(r.command(t, "keys", "create", "--project", "keyed"))
	probe := &haClient{name: "probe", header: map[string]string{"MCP-Protocol-Version": modern, "Authorization": "Bearer " + key}}
	addresses := []string{service}
	for _, p := range r.pods {
		addresses = append(addresses, p.addresses["http"])
	}
	for _, address := range addresses {
		eventually(t, syncLimit, "the server is known", func(ctx context.Context) error { return at(probe, address).call(ctx, kubeBase, steadyServer, 0) })
	}
	for n := range haSessions + haStateless {
		c := at(probe, service)
		c.name = fmt.Sprint("client ", n)
		if n >= haSessions {
			c.http.Transport.(*http.Transport).DisableKeepAlives = true // each call meets the Service as it is
		} else {
			var err error
			if c.header, err = openSession(t.Context(), c.http, kubeBase, "keyed", key); err != nil {
				t.Fatal(err)
			}
		}
		r.clients = append(r.clients, c)
	}
}

// at returns the client with connections to an address.
func at(c *haClient, address string) *haClient {
	changed := *c
	changed.http = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}
	return &changed
}

// keepCalling calls tools until stop is closed.
func (r *rollout) keepCalling(ctx context.Context, c *haClient, stop <-chan struct{}) {
	tick := time.NewTicker(haEvery)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		began, work := time.Now(), c.call
		if n%4 == 0 { // in flight at any time
			work = c.sleep
		}
		r.tally.note(c, steadyServer, began, work(ctx, kubeBase, steadyServer, n))
	}
}

// replace replaces pods as the Deployment's strategy says, and returns the new ones.
// Each of the old ones has a call in flight when it stops listening.
func (r *rollout) replace(t *testing.T, old []*pod) (fresh []*pod) {
	t.Helper()
	wanted, strategy := r.Spec.Replicas, r.Spec.Strategy.RollingUpdate
	var answers []<-chan error
	for left := old; len(left) > 0; {
		fresh = append(fresh, r.start(t, min(wanted-len(fresh), wanted+strategy.MaxSurge-len(left)-len(fresh)))...)
		for ; len(left) > 0 && len(left)-1+len(fresh) >= wanted-strategy.MaxUnavailable; left = left[1:] {
			answers = append(answers, r.hold(t, left[0], len(answers)+1))
			left[0].terminate(t)
		}
	}
	for _, p := range old {
		eventually(t, p.drain+shutdownLimit, p.name+" stops listening", func(ctx context.Context) error {
			if accepts(p.addresses["http"])(ctx) == nil {
				return errors.New("it listens")
			}
			return nil
		}, p.process)
	}
	close(r.release)
	for i, p := range old {
		if err := <-answers[i]; err != nil {
			t.Errorf("call in flight on %s: %v", p.name, err)
		}
		p.checkEnd(t)
	}
	return fresh
}

// hold starts a call on the pod and returns its result, once the upstream server
// has received count such calls.
func (r *rollout) hold(t *testing.T, p *pod, count int) <-chan error {
	t.Helper()
	c, answer := at(r.clients[0], p.addresses["http"]), make(chan error, 1)
	request, err := mcpRequest(t.Context(), kubeBase, "keyed", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"held__wait"}}`, c.header)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _, body, err := exchange(c.http, request)
		if err == nil && !strings.Contains(string(body), "released") {
			err = errors.New(string(body))
		}
		answer <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), readyLimit)
	defer cancel()
	if _, err := r.held.WaitForRequests(ctx, "tools/call", count); err != nil {
		t.Fatal(err)
	}
	return answer
}
