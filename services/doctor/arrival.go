package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"time"

	"mcpgateway/services/egress"
)

// Values of the probe. None of them is accepted anywhere: the domain and the
// address are reserved (RFC 2606, RFC 5737).
const (
	probeOrigin  = "https://gateway-doctor.invalid"
	probeAddress = "192.0.2.77"
	probeBearer  = "gateway-doctor-probe"
)

// arrival is the response to the probe, which several steps read.
type arrival struct {
	*response
	seen  Seen
	isOwn bool      // a gateway with our keys responded
	at    time.Time // when the response came
}

// probe sends a request that the gateway refuses whatever its settings are, and
// whose refusal describes how it arrived.
func (r *run) probe(ctx context.Context, origin string) (arrival, error) {
	got, err := r.send(ctx, request{http.MethodPost, r.base + "/request", map[string]string{
		"Accept": "application/json, text/event-stream", "Origin": origin, "Authorization": "Bearer " + probeBearer, "X-Forwarded-For": probeAddress,
	}, "{}"})
	if err != nil {
		return arrival{}, err
	}
	a := arrival{response: got, at: r.Now()}
	a.seen, a.isOwn = seenOf(got.header.Get(HeaderSeen))
	return a, nil
}

// connect checks DNS, TCP and TLS with the probe.
func (r *run) connect(ctx context.Context) outcome {
	var peer string
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { peer = c.Conn.RemoteAddr().String() }})
	var err error
	if r.arrived, err = r.probe(traced, probeOrigin); err != nil {
		return r.unreachable(err)
	}
	if r.Public.Scheme == "https" {
		return ok("Connected to %s. The certificate is valid.", peer)
	}
	return ok("Connected to %s, without TLS.", peer)
}

// unreachable returns the fix of a request that got no response.
func (r *run) unreachable(err error) outcome {
	var dns *net.DNSError
	var blocked *egress.Blocked
	why, text, isTLS := egress.IsCertificateError(err)
	host := r.Public.Hostname()
	switch {
	case errors.As(err, &dns):
		return stop("The name "+host+" doesn't resolve from the gateway.", "Add a DNS record for %s that points to your proxy, or correct GATEWAY_PUBLIC_URL.", host)
	case errors.As(err, &blocked):
		return stop(clip(blocked.Error()), "Choose a GATEWAY_PUBLIC_URL whose address isn't link-local, metadata or multicast.")
	case isTLS:
		return stop("TLS failed: "+why+". "+clip(text), "Install a certificate for %s with its intermediate certificates on the proxy. With a private CA, install that CA for the gateway too.", host)
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return stop("The port of "+r.hostPort()+" doesn't speak TLS.", "Turn on TLS at the proxy, or correct the scheme and port of GATEWAY_PUBLIC_URL.")
	case errors.Is(err, context.DeadlineExceeded):
		return stop("No response from "+r.hostPort()+" within "+stepTime.String()+".", "Check firewalls, and whether the gateway's machine may connect to its own public address.")
	default:
		return stop("The connection to "+r.hostPort()+" failed: "+clip(err.Error()), "Start the proxy on this address, or correct GATEWAY_PUBLIC_URL.")
	}
}

// redirects fails for any redirect, because clients don't send credentials to
// another address and change POST to GET.
func (r *run) redirects(context.Context) outcome {
	if !r.arrived.isRedirect() {
		return ok("None.")
	}
	to := clip(r.arrived.header.Get("Location"))
	return stop(fmt.Sprintf("The URL redirects to %s (HTTP %d). Clients don't send credentials there.", to, r.arrived.status),
		"Set GATEWAY_PUBLIC_URL to the address that responds itself, or remove the redirect from the proxy.")
}

// gateway checks that this gateway responded.
func (r *run) gateway(context.Context) outcome {
	if r.arrived.isOwn {
		return ok("The request arrived at this gateway.")
	}
	detail := fmt.Sprintf("Something else responded with HTTP %d.", r.arrived.status)
	switch {
	case r.arrived.status >= 502 && r.arrived.status <= 504:
		return stop(detail, "The proxy can't reach the gateway. Correct the gateway's address in the proxy, and check GATEWAY_ADDR.")
	case r.arrived.status == http.StatusMethodNotAllowed:
		return stop(detail, "The proxy rejects POST. Allow GET, POST, DELETE and OPTIONS below /v1/mcp/.")
	default:
		return stop(detail, "Forward all paths unchanged, at least /v1/mcp/, /oauth/ and /.well-known/. Replicas must have the same GATEWAY_SECRETS_KEYS.")
	}
}

// host checks that the Host header names the gateway.
func (r *run) host(context.Context) outcome {
	seen := r.arrived.seen
	if !seen.HostAllowed {
		return stop(fmt.Sprintf("The gateway received Host: %s and refused it.", clip(seen.Host)),
			"Let the proxy pass the Host header on (nginx: proxy_set_header Host $host;), or add %s to GATEWAY_ALLOWED_HOSTS.", clip(hostOnly(seen.Host)))
	}
	return ok("Host: %s", clip(seen.Host))
}

func hostOnly(hostPort string) string {
	if host, _, err := net.SplitHostPort(hostPort); err == nil {
		return host
	}
	return hostPort
}

// origin checks that the Origin header arrives, that foreign origins are refused,
// and that the one of the user's client is accepted.
func (r *run) origin(ctx context.Context) outcome {
	switch seen := r.arrived.seen; {
	case seen.Origin == "":
		return fail("The proxy removes the Origin header, so that the gateway can't refuse other sites.", "Let the proxy pass the Origin header on unchanged.")
	case seen.Origin != probeOrigin:
		return fail("The proxy replaces the Origin header by "+clip(seen.Origin)+".", "Let the proxy pass the Origin header on unchanged.")
	case r.Origin == "":
		return ok("Other sites are refused, as they should be. Programs send no Origin.")
	}
	own, err := r.probe(ctx, r.Origin)
	switch {
	case err != nil:
		return fail("The second request failed: "+clip(err.Error()), "Run the doctor again.")
	case !own.isOwn || !own.seen.OriginAllowed:
		return fail("Clients of "+r.Origin+" are refused.", "Add %s to GATEWAY_ALLOWED_ORIGINS.", r.Origin)
	}
	return ok("Clients of %s are accepted, other sites refused.", r.Origin)
}

// proxy checks that the gateway learns the addresses of clients.
func (r *run) proxy(context.Context) outcome {
	seen := r.arrived.seen
	list := seen.values("X-Forwarded-For")
	untouched := slices.Equal(list, []string{probeAddress})
	others := slices.DeleteFunc(slices.Clone(seen.Forwarded), func(h ForwardedHeader) bool { return h.Name == "X-Forwarded-For" })
	switch {
	case untouched && len(others) == 0 && !seen.Trusted:
		return ok("No proxy adds addresses. The gateway counts this request for %s.", seen.Client)
	case !seen.Trusted:
		return fail(fmt.Sprintf("A proxy at %s adds %s, but isn't trusted: all clients share its address in rate limits and in the log.", seen.Peer, names(seen.Forwarded)),
			"Set GATEWAY_TRUSTED_PROXIES=%s, and let the proxy send X-Forwarded-For.", seen.Peer)
	case untouched && len(seen.values("Forwarded")) == 0:
		return fail(fmt.Sprintf("The trusted proxy at %s passes on the X-Forwarded-For of clients, so that anyone can pretend to have another address.", seen.Peer),
			"Let the proxy add the address of its client (nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;). The gateway doesn't read X-Real-IP.")
	}
	return ok("The proxy at %s is trusted. The gateway counts this request for %s.", seen.Peer, seen.Client)
}

// names returns the names of headers.
func names(headers []ForwardedHeader) string {
	var all []string
	for _, h := range headers {
		if !slices.Contains(all, h.Name) {
			all = append(all, h.Name)
		}
	}
	return strings.Join(all, ", ")
}

// authorization checks that the Authorization header arrives.
func (r *run) authorization(context.Context) outcome {
	if r.arrived.seen.Authorization {
		return ok("It arrives.")
	}
	o := fail("The proxy removes the Authorization header, so that no key or token arrives.",
		"Let the proxy pass it on (nginx: proxy_set_header Authorization $http_authorization;), and turn its own authentication off for /v1/mcp/.")
	o.fatal = true
	return o
}

// clock compares the clocks of the gateway that responded and of its proxy with
// this one's.
func (r *run) clock(context.Context) outcome {
	if skew := time.UnixMilli(r.arrived.seen.At).Sub(r.arrived.at); skew.Abs() > maxSkew {
		return fail(fmt.Sprintf("The clock of the replica that responded differs by %s from this one's. Keys and tokens end too early or too late.", skew.Abs().Round(time.Second)),
			"Synchronize the clocks of all machines with NTP.")
	}
	date, err := http.ParseTime(r.arrived.header.Get("Date"))
	if err != nil {
		return ok("The gateway's clock agrees. The response has no date.")
	}
	if skew := date.Sub(r.arrived.at); skew.Abs() > maxSkew {
		return fail(fmt.Sprintf("The Date of responses differs by %s from the gateway's clock. Clients that trust it see expired tokens and certificates.", skew.Abs().Round(time.Second)),
			"Synchronize the clocks of the proxy and of the gateway with NTP.")
	}
	return ok("They agree.")
}
