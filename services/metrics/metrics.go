// Package metrics counts events of the process and renders them in the
// Prometheus format. Counting takes no lock and allocates nothing.
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

// Limits of memory and of rendering.
const (
	// MaxRequestSeries is the maximum number of counted combinations of method,
	// route and status. Routes come from a fixed table.
	MaxRequestSeries = 2000
	// MaxCallSeries is the maximum number of counted combinations of project,
	// server and outcome. Removed servers are dropped.
	MaxCallSeries = 5000
	// textAge is the lifetime of the cached text. It limits the cost of
	// requests.
	textAge = time.Second
)

// other is the label of events beyond the limits.
const other = "(other)"

// ContentType is the media type of Text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Options are the sources of the metrics that are collected on request. All but
// Embeddings, Outbox and Backups are required.
type Options struct {
	Version  string
	Projects func() []Project
	Catalog  func() (servers, templates int)
	Syncs    func() (succeeded, failed int64) // since the start
	// Lost returns the number of calls dropped from the call log since the
	// start.
	Lost func() int64
	// Unattributed returns the number of upstream notifications dropped since
	// the start because their client was ambiguous.
	Unattributed func() int64
	// Connectors returns the number of connectors that are connected to this
	// process.
	Connectors func() int
	// Outbox returns the state of the deliveries of events; nil without any.
	Outbox func() OutboxStats
	// Alerts returns the number of firing alerts by rule.
	Alerts func() map[string]int
	// Mail returns the numbers of messages since the start that the mail server
	// accepted and that could not be sent.
	Mail func() (sent, failed int64)
	// Embeddings returns the state of the search by meaning; nil if it is off.
	Embeddings func() EmbeddingStats
	// Backups returns the results of scheduled backups; nil if there are none.
	Backups func() BackupStats
	// Panics returns the number of panics of background tasks since the start.
	Panics func() int64
}

// OutboxStats are counters of deliveries since the start, and the waiting events
// by the name of the destinations that this process delivers to.
type OutboxStats struct {
	Delivered, Failed, Dead, Dropped int64
	Waiting                          map[string]int64
}

// EmbeddingStats are the state of the search by meaning.
type EmbeddingStats struct {
	Vectors, Bytes              int   // in memory
	Used, Late, Failed, Skipped int64 // tasks since the start, by result
}

// BackupStats are the results of scheduled backups since the start. Last is the
// zero time before the first success.
type BackupStats struct {
	Done, Failed int64
	Last         time.Time
}

// Project is a configured project.
type Project struct {
	ID, Slug string
	Servers  []ServerStats
}

// ServerStats is the state of an upstream server.
type ServerStats struct {
	Alias string
	// Tried reports whether a request was sent to the server since the start.
	// Up reports whether the last one succeeded.
	Tried, Up bool
	Failures  int        // consecutive
	Open      bool       // the circuit breaker is open
	Active    int        // calls in flight
	Waiting   int        // queued calls
	SyncedAt  *time.Time // nil if never
	SyncOK    bool       // result of the last sync
	// Program is the program of a server that a runner starts; nil if its runner
	// is not connected.
	Program *ProgramStats
}

// ProgramStats are those of a program.
type ProgramStats struct {
	Processes  int
	Memory     int64 // bytes
	Starts     int64
	StrayLines int64         // lines of output that are not messages
	LastStart  time.Duration // time of the last observed start; 0 if none
}

// CallLog records tool calls.
type CallLog interface{ Record(call models.Call) }

// Metrics contains the counters of a process. It is safe for concurrent use.
type Metrics struct {
	options  Options
	requests *series[requestLabels]
	calls    *series[callLabels]
	registry *prometheus.Registry

	mu      sync.Mutex
	streams map[string]func() int
	resume  func() int64
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

// New returns the metrics of a starting process.
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

// Request counts an HTTP request by its route pattern, which is empty if no
// route matched. took is the time to the first byte of the response.
func (m *Metrics) Request(method, route string, status int, took time.Duration) {
	if route == "" {
		route = other
	}
	m.requests.of(requestLabels{method, route, status}).observe(took)
}

// Calls returns a CallLog that counts calls and forwards them to next.
func (m *Metrics) Calls(next CallLog) CallLog { return &countedCalls{m.calls, next} }

type countedCalls struct {
	series *series[callLabels]
	next   CallLog
}

// Record counts the call and forwards it.
func (c *countedCalls) Record(call models.Call) {
	c.series.of(callLabels{call.ProjectID, activity.ServerOf(call), call.Outcome}).observe(time.Duration(call.DurationUS) * time.Microsecond)
	c.next.Record(call)
}

// Streams registers the function that returns the number of open streams of a
// kind. A later function replaces it.
func (m *Metrics) Streams(kind string, open func() int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.streams[kind] = open
}

// Resume registers the function that returns the memory of resumable streams in
// bytes.
func (m *Metrics) Resume(held func() int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resume = held
}

// Text returns all metrics in the Prometheus text format, at most 1 s old. It
// returns an INTERNAL fault if they can't be collected.
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
