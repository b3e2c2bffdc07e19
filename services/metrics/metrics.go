// Package metrics counts what the process does and shows it in the format of
// Prometheus. To count takes no lock and allocates nothing.
package metrics

import (
	"bytes"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// Bounds of what is kept and of how often it is written.
const (
	// MaxRequestSeries is how many combinations of method, route and status
	// are counted apart; the routes are those of one table.
	MaxRequestSeries = 2000
	// MaxCallSeries is how many combinations of project, server and outcome
	// are counted apart. Those that are configured no longer are dropped.
	MaxCallSeries = 5000
	// textAge is how long a text is served again, so that nobody can make the
	// process count all the time.
	textAge = time.Second
)

// other stands for the labels of what is not counted apart.
const other = "(other)"

// ContentType is the media type of Text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Options are where the metrics come from that are read when they are asked
// for. All must be set.
type Options struct {
	Version  string
	Projects func() []Project
	Catalog  func() (servers, templates int)
	Syncs    func() (succeeded, failed int64) // since the start
	// Lost is how many calls the log of calls lost since the start.
	Lost func() int64
	// Unattributed is the number of notifications of upstream servers that
	// were dropped since the start, because they belonged to no client for
	// certain.
	Unattributed func() int64
	// Panics is the number of panics of background tasks since the start.
	Panics func() int64
}

// Project is a project as it is configured now.
type Project struct {
	ID, Slug string
	Servers  []Server
}

// Server is the state of an upstream server.
type Server struct {
	Alias string
	// Tried says that the server was asked for anything since the start; Up
	// that it answered the last time.
	Tried, Up bool
	Failures  int        // without an answer in between
	Open      bool       // calls are kept away from it
	Active    int        // calls that are under way
	Waiting   int        // calls that wait for their turn
	SyncedAt  *time.Time // nil when it never was
	SyncOK    bool       // the last one
}

// CallLog is told of every tool call.
type CallLog interface{ Record(call models.Call) }

// Metrics are the counters of one process. They are safe for concurrent use.
type Metrics struct {
	options  Options
	requests *series[requestLabels]
	calls    *series[callLabels]
	registry *prometheus.Registry

	mu      sync.Mutex
	streams map[string]func() int
	text    []byte
	textAt  time.Time
}

type requestLabels struct {
	method, route string
	status        int
}

type callLabels struct {
	projectID, server string
	outcome           models.Outcome
}

// New returns the metrics of a process that begins.
func New(o Options) *Metrics {
	m := &Metrics{
		options:  o,
		requests: newSeries(MaxRequestSeries, requestLabels{method: other, route: other}),
		calls:    newSeries(MaxCallSeries, callLabels{projectID: other, server: other}),
		registry: prometheus.NewRegistry(), streams: map[string]func() int{},
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collector{m})
	return m
}

// Request counts an HTTP request by the pattern of its URL, which is empty
// when no route has it. took is the time until the answer began.
func (m *Metrics) Request(method, route string, status int, took time.Duration) {
	if route == "" {
		route = other
	}
	m.requests.of(requestLabels{method, route, status}).observe(took)
}

// Calls returns a log that counts the calls and hands them on to next.
func (m *Metrics) Calls(next CallLog) CallLog { return &countedCalls{m.calls, next} }

type countedCalls struct {
	series *series[callLabels]
	next   CallLog
}

// Record counts the call and hands it on.
func (c *countedCalls) Record(call models.Call) {
	c.series.of(callLabels{call.ProjectID, activity.ServerOf(call), call.Outcome}).observe(time.Duration(call.DurationUS) * time.Microsecond)
	c.next.Record(call)
}

// Streams says how many streams of a kind are open; the last function of a
// kind is asked.
func (m *Metrics) Streams(kind string, open func() int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.streams[kind] = open
}

// Text returns all metrics in the text format of Prometheus, at most a second
// old. It returns an INTERNAL fault when they cannot be collected.
func (m *Metrics) Text() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.text != nil && time.Since(m.textAt) < textAge {
		return m.text, nil
	}
	families, err := m.registry.Gather()
	if err != nil {
		return nil, fault.Internal(err)
	}
	var b bytes.Buffer
	encoder := expfmt.NewEncoder(&b, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return nil, fault.Internal(err)
		}
	}
	m.text, m.textAt = b.Bytes(), time.Now()
	return m.text, nil
}
