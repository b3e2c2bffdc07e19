package doctor

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"mcpgateway/models"
)

// run is one run of the doctor.
type run struct {
	*Doctor
	Request
	report func(Step)
	base   string // URL of the endpoint without its kind
	mark   string // value of Header
	steps  []Step
	broken bool // a step failed without which the others can't be tested

	arrived arrival
	server  serverMetadata
	bearer  string // credential of the client; empty if none is needed
	session string // ID of the MCP session
	left    []leftover
}

// leftover is something that the run must delete.
type leftover struct {
	what   string
	delete func(ctx context.Context) error
}

// outcome is the outcome of a check.
type outcome struct {
	status Status
	detail string
	fix    string
	// fatal reports whether the steps after a failed one can't be tested.
	fatal bool
}

func ok(format string, args ...any) outcome {
	return outcome{status: OK, detail: fmt.Sprintf(format, args...)}
}

func skip(format string, args ...any) outcome {
	return outcome{status: Skipped, detail: fmt.Sprintf(format, args...)}
}

func fail(detail, format string, args ...any) outcome {
	return outcome{status: Failed, detail: detail, fix: fmt.Sprintf(format, args...)}
}

// stop is fail for a step without which the others can't be tested.
func stop(detail, format string, args ...any) outcome {
	o := fail(detail, format, args...)
	o.fatal = true
	return o
}

// check is a step of a run.
type check struct {
	id, name string
	do       func(ctx context.Context) outcome
}

// checks returns the steps for the project, in order.
func (r *run) checks() []check {
	checks := []check{
		{"public-url", "Public URL", r.publicURL},
		{"connect", "DNS and TLS", r.connect},
		{"redirects", "Redirects", r.redirects},
		{"gateway", "Path to the gateway", r.gateway},
		{"host", "Host rule", r.host},
		{"origin", "Origin rule", r.origin},
		{"proxy", "Client addresses", r.proxy},
		{"authorization", "Authorization header", r.authorization},
		{"clock", "Clocks", r.clock},
		{"challenge", "Challenge", r.challenge},
	}
	switch r.At.Project().AuthMode {
	case models.AuthOAuth:
		checks = append(checks,
			check{"resource-metadata", "Protected-resource metadata", r.resourceMetadata},
			check{"server-metadata", "Authorization-server metadata", r.serverMetadata},
			check{"registration", "Registration", r.registration},
			check{"pkce", "PKCE", r.pkce},
			check{"token", "Token", r.token},
		)
	case models.AuthAPIKey:
		checks = append(checks, check{"key", "Temporary key", r.key})
	}
	return append(checks,
		check{"initialize", "initialize", r.initialize},
		check{"tools", "tools/list", r.tools},
		check{"stream", "Event stream", r.stream},
	)
}

// all runs the steps.
func (r *run) all(ctx context.Context) {
	for _, c := range r.checks() {
		start, o := time.Now(), outcome{status: Skipped, detail: "Not tested, because of the steps before."}
		switch {
		case r.broken:
		case ctx.Err() != nil:
			o = skip("Not tested: the time of the run has ended.")
		default:
			step, cancel := context.WithTimeout(ctx, stepTime)
			o = c.do(step)
			cancel()
		}
		r.broken = r.broken || o.fatal
		r.add(c.id, c.name, o, start)
	}
}

func (r *run) add(id, name string, o outcome, start time.Time) {
	s := Step{ID: id, Name: name, Status: o.status, Detail: o.detail, Fix: o.fix, MS: time.Since(start).Milliseconds()}
	r.steps = append(r.steps, s)
	if r.report != nil {
		r.report(s)
	}
}

// cleanUp deletes what the run created, and reports it as a step.
func (r *run) cleanUp(ctx context.Context) {
	if len(r.left) == 0 {
		return
	}
	start, o := time.Now(), ok("The %s was deleted.", r.left[0].what)
	for _, l := range r.left {
		if err := l.delete(ctx); err != nil {
			o = fail("The "+l.what+" wasn't deleted.", "Delete the %s named %q yourself. It expires in %d minutes or with its client.", l.what, Name, int(keyLife.Minutes()))
		}
	}
	r.add("cleanup", "Cleanup", o, start)
}

// Name is the name of the keys and clients that runs create.
const Name = "Client doctor (temporary)"

// publicURL checks the setting itself.
func (r *run) publicURL(context.Context) outcome {
	if r.Public.Scheme == "http" && !isLoopback(r.Public.Hostname()) {
		return fail("Clients connect to "+r.Public.String()+" without TLS: keys and tokens can be read on the way, and most clients refuse to sign in.",
			"Put a proxy with a certificate in front of the gateway and set GATEWAY_PUBLIC_URL=%s.", secure(r.Public))
	}
	return ok("%s", r.base+"/request")
}

// secure returns the https URL of an http one, without its port.
func secure(u *url.URL) string { return "https://" + u.Hostname() }

func isLoopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// hostPort returns the host and port of the public URL.
func (r *run) hostPort() string {
	port := r.Public.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[r.Public.Scheme]
	}
	return net.JoinHostPort(r.Public.Hostname(), port)
}
