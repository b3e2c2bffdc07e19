// Package dial connects the runner of this computer to a gateway elsewhere: to
// each of its live replicas, for as long as the runner runs.
package dial

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpgateway/services/background"
	"mcpgateway/services/runners/socket"
	"mcpgateway/services/secrets"
)

// Delays between attempts, ±20 %. They double after each failure. A connection
// that lasted longer than the delay resets them: the next attempt begins at once.
const (
	minDelay = time.Second
	maxDelay = time.Minute
)

// maxReplicas is the maximum number of replicas of a gateway that a runner
// connects to.
const maxReplicas = 64

// Options configure a Dialer.
type Options struct {
	URL       string        // of the gateway
	Token     secrets.Value // of the connector
	Prefix    string        // of the aliases of new servers
	AllowHTTP bool          // also for gateways that aren't on this computer
	Log       *slog.Logger
	Tasks     *background.Tasks

	// Proxy returns the proxy of a request; nil means that of the environment.
	Proxy func(*http.Request) (*url.URL, error)
	// MinDelay and MaxDelay replace the delays between attempts; 0 leaves them.
	MinDelay, MaxDelay time.Duration
}

// Dialer manages a connection to each live replica of a gateway. It is safe for
// concurrent use.
type Dialer struct {
	o       Options
	address string // of the WebSocket
	changed chan struct{}

	mu       sync.Mutex
	links    map[string]*socket.Conn // by replica
	live     []string                // replicas, as last received
	refused  map[string]string       // entries without a server, with the reason
	failures int                     // since the last connection that lasted
	logged   string                  // the last problem
}

// New returns a Dialer without connections. It returns an error for a URL that
// is not usable, and for a wrong prefix.
func New(o Options) (*Dialer, error) {
	address, err := Address(o.URL, o.AllowHTTP)
	if err != nil {
		return nil, err
	}
	if why := socket.CheckPrefix(o.Prefix); why != "" {
		return nil, fmt.Errorf("--prefix: %s", why)
	}
	if o.Token.IsZero() {
		return nil, errors.New("the token of the connector is empty")
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	if o.MinDelay == 0 {
		o.MinDelay = minDelay
	}
	if o.MaxDelay == 0 {
		o.MaxDelay = maxDelay
	}
	return &Dialer{o: o, address: address, changed: make(chan struct{}, 1), links: map[string]*socket.Conn{}, refused: map[string]string{}}, nil
}

// Address returns the address of the WebSocket of a gateway. It returns an error
// for a URL other than https, or http on this computer or with allowHTTP.
func Address(gateway string, allowHTTP bool) (string, error) {
	u, err := url.Parse(gateway)
	switch {
	case err != nil || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("--connect takes the URL of a gateway, such as https://gateway.example.com")
	case u.User != nil:
		return "", errors.New("--connect takes no user name or password; use --token-file")
	case u.Scheme != "https" && u.Scheme != "http":
		return "", errors.New("--connect takes an https URL")
	case u.Scheme == "http" && !allowHTTP && !isLoopback(u.Hostname()):
		return "", errors.New("--connect with http sends the token in clear text; use https, or --allow-http in a trusted network")
	}
	u.Scheme = map[string]string{"https": "wss", "http": "ws"}[u.Scheme]
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), socket.Path) + socket.Path
	return u.String(), nil
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && addr.Unmap().IsLoopback()
}

// Notes returns what the gateway said about this runner: the entries of its files
// that got no server there, and why.
func (d *Dialer) Notes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	notes := make([]string, 0, len(d.refused))
	for _, name := range slices.Sorted(maps.Keys(d.refused)) {
		notes = append(notes, fmt.Sprintf("%s: refused by %s: %s", name, d.o.URL, d.refused[name]))
	}
	return notes
}

// Connected returns the sorted IDs of the connected replicas.
func (d *Dialer) Connected() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.links))
}

// Run connects to the gateway and serves its requests with handler until ctx
// ends. It returns the error of ctx after the last connection has ended.
func (d *Dialer) Run(ctx context.Context, handler http.Handler) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	var last time.Time // start of the last attempt
	for d.wait(ctx, last) {
		last = time.Now()
		d.attempt(ctx, handler, &serving)
	}
	return ctx.Err()
}

// wait waits until an attempt is due: while a live replica has no connection, and
// the delay since the last attempt has passed. It reports false when ctx has ended.
func (d *Dialer) wait(ctx context.Context, last time.Time) bool {
	for {
		var due <-chan time.Time
		if !d.isComplete() {
			due = time.After(time.Until(last.Add(d.delay())))
		}
		select {
		case <-ctx.Done():
			return false
		case <-due:
			return true
		case <-d.changed:
		}
	}
}

// isComplete reports whether each live replica has a connection.
func (d *Dialer) isComplete() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, replica := range d.live {
		if d.links[replica] == nil {
			return false
		}
	}
	return len(d.links) > 0
}
