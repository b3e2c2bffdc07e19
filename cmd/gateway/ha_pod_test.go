//go:build ha

package main_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// endpointLag is the time for a change of a pod's readiness, or its end, to reach
// the service.
const endpointLag = time.Second

// pod is a process that is started, probed and ended like a pod of Kubernetes.
type pod struct {
	*process
	program   program
	spec      *podSpec
	addresses map[string]string // by the name of the port
	drain     time.Duration
	last      sync.WaitGroup // until its exit, once it ends

	mu       sync.Mutex
	ready    bool          // by the readiness probe
	serving  bool          // gets new connections of the service
	signaled time.Time     // when it began to end; zero before
	unready  time.Duration // from then to its failed readiness; 0 before
	lasted   time.Duration // from then to its exit
	expired  bool          // was killed after the grace period
	problems []string
}

// startPod starts a pod of the deployment with the secret. It ends with the test.
func startPod(t *testing.T, d *deployment, binary, name string, secret map[string]string) *pod {
	t.Helper()
	p := &pod{spec: &d.Spec.Template.Spec, addresses: map[string]string{}}
	c := &p.spec.Containers[0]
	for _, port := range c.Ports {
		p.addresses[port.Name] = freeAddress(t)
	}
	// The image has no /tmp, and its file system is read-only: see check.
	folder := t.TempDir()
	env := append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOSTNAME=" + name, "HOME=" + folder, "TMPDIR=" + folder + "/tmp"}, c.environment(t, secret, p.addresses)...)
	p.program = program{name: name, path: binary, args: c.Args, dir: folder, env: env}
	for _, v := range env {
		if delay, found := strings.CutPrefix(v, "GATEWAY_DRAIN_DELAY="); found {
			var err error
			if p.drain, err = time.ParseDuration(delay); err != nil {
				t.Fatal(err)
			}
		}
	}
	p.process = startProcess(t, p.program)
	ctx, cancel := context.WithCancel(context.Background())
	var probing sync.WaitGroup
	probing.Go(func() { p.keepProbing(ctx) })
	t.Cleanup(func() {
		cancel()
		probing.Wait()
		_ = p.cmd.Process.Kill() // without a drain; fails if it has exited
	})
	return p
}

// keepProbing probes the pod until it has exited or ctx is cancelled.
func (p *pod) keepProbing(ctx context.Context) {
	c := &p.spec.Containers[0]
	started := false
	p.poll(ctx, c.StartupProbe, func(ok bool, count int) bool {
		if !ok && count == c.StartupProbe.FailureThreshold {
			_ = p.cmd.Process.Kill() // fails if it has exited
		}
		started = ok
		return !ok && count < c.StartupProbe.FailureThreshold
	})
	if !started {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.poll(ctx, c.LivenessProbe, p.noteLiveness) })
	both.Go(func() { p.poll(ctx, c.ReadinessProbe, p.noteReadiness) })
	both.Wait()
}

// poll sends a probe now and after each of its periods, until report returns false.
// report receives the result and the number of equal results in a row.
func (p *pod) poll(ctx context.Context, each probe, report func(ok bool, count int) (more bool)) {
	tick := time.NewTicker(time.Duration(each.PeriodSeconds) * time.Second)
	defer tick.Stop()
	before, count := false, 0
	for {
		ok := p.respond(ctx, each)
		if count++; ok != before {
			before, count = ok, 1
		}
		if ctx.Err() != nil || !report(ok, count) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-p.ended:
			return
		case <-tick.C:
		}
	}
}

// respond reports whether the pod passes the probe.
func (p *pod) respond(ctx context.Context, each probe) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(each.TimeoutSeconds)*time.Second)
	defer cancel()
	status, _, _, err := send(ctx, http.MethodGet, "http://"+p.addresses[each.HTTPGet.Port]+each.HTTPGet.Path, "", nil)
	return err == nil && status >= 200 && status < 400
}

// noteLiveness stores failed liveness probes, unless the pod has stopped listening after
// its drain delay.
func (p *pod) noteLiveness(ok bool, _ int) (more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.signaled.IsZero() && time.Since(p.signaled) >= p.drain {
		return false
	}
	if !ok {
		p.problems = append(p.problems, "a liveness probe failed")
	}
	return true
}

// noteReadiness follows the readiness probe.
func (p *pod) noteReadiness(ok bool, count int) (more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed := !ok && count >= p.spec.Containers[0].ReadinessProbe.FailureThreshold
	switch {
	case !p.signaled.IsZero():
		if failed {
			p.unready = time.Since(p.signaled)
		}
		return !failed
	case ok && !p.ready:
		p.setReady(true)
	case failed && p.ready:
		p.setReady(false)
		p.problems = append(p.problems, "the readiness probe failed before the end")
	}
	return true
}

// setReady changes the state of the pod, and later that of the service. The caller
// must hold mu.
func (p *pod) setReady(ready bool) {
	p.ready = ready
	time.AfterFunc(endpointLag, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.serving = p.ready
	})
}

// isReady returns nil if the pod is ready.
func (p *pod) isReady(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ready {
		return errors.New("not ready")
	}
	return nil
}

// isServing reports whether the service sends new connections to the pod.
func (p *pod) isServing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.serving
}

// terminate begins to end the pod. It gets the signal before the service stops
// using it, and is killed after the grace period.
func (p *pod) terminate(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signaled = time.Now()
	p.setReady(false)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.last.Go(func() {
		expired := !p.waitEnd(time.Duration(p.spec.TerminationGracePeriodSeconds) * time.Second)
		if expired {
			_ = p.cmd.Process.Kill() // fails if it has just exited
		}
		<-p.ended
		p.mu.Lock()
		defer p.mu.Unlock()
		p.expired, p.lasted = expired, time.Since(p.signaled)
	})
}

// checkEnd waits until the pod has exited, and fails the test unless it did so within
// the grace period, and its readiness failed before it stopped listening.
func (p *pod) checkEnd(t *testing.T) {
	t.Helper()
	p.last.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expired || p.cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("%s: %v, killed after the grace period: %v", p.name, p.cmd.ProcessState, p.expired)
	}
	if p.unready == 0 || p.unready >= p.drain {
		t.Errorf("%s: not ready %v after SIGTERM, want less than %v", p.name, p.unready, p.drain)
	}
	t.Logf("%s: not ready %v after SIGTERM, exit after %v", p.name, p.unready.Round(100*time.Millisecond), p.lasted.Round(100*time.Millisecond))
}

// check fails the test if a probe failed, or if the pod wrote a file.
func (p *pod) check(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		t.Errorf("%s: %s", p.name, problem)
	}
	if files, err := os.ReadDir(p.program.dir); err != nil || len(files) > 0 {
		t.Errorf("%s: files %v, %v", p.name, files, err)
	}
}
