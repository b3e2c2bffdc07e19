package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"mcpgateway/services/activity"
)

// collector collects the gateway's metrics on request.
type collector struct{ *Metrics }

// Describe sends nothing: the set of metrics is dynamic.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends every metric. The caller must hold the metrics' mutex.
func (c collector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	count := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, value, labels...)
	}
	gauge(describe("build_info", "The running version.", "version"), 1, c.options.Version)
	servers, templates := c.options.Catalog()
	rows := describe("catalog_rows", "Rows of the public catalog.", "kind")
	gauge(rows, float64(servers), "server")
	gauge(rows, float64(templates), "template")
	succeeded, failed := c.options.Syncs()
	syncs := describe("syncs_total", "Syncs of upstream servers by result.", "result")
	count(syncs, float64(succeeded), "ok")
	count(syncs, float64(failed), "error")
	count(describe("calls_lost_total", "Calls dropped from the call log because the database could not keep up."), float64(c.options.Lost()))
	count(describe("upstream_unattributed_total", "Notifications dropped because a shared stream belongs to several clients."), float64(c.options.Unattributed()))
	count(describe("panics_total", "Recovered panics of background tasks."), float64(c.options.Panics()))
	firing := describe("alerts_firing", "Firing alerts by rule.", "rule")
	for rule, n := range c.options.Alerts() {
		gauge(firing, float64(n), rule)
	}
	mailed, unsent := c.options.Mail()
	mails := describe("mail_messages_total", "Messages to people by result.", "result")
	count(mails, float64(mailed), "sent")
	count(mails, float64(unsent), "failed")
	c.embeddings(gauge, count)
	c.outbox(gauge, count)
	streams := describe("open_streams", "Open streams.", "kind")
	for kind, open := range c.streams {
		gauge(streams, float64(open()), kind)
	}
	if c.resume != nil {
		gauge(describe("resume_bytes", "Memory of events and results that clients can resume."), float64(c.resume()))
	}
	projects := c.options.Projects()
	c.servers(projects, gauge)
	c.programs(projects, gauge, count)
	c.backups(gauge, count)
	c.countedRequests(out, count)
	c.countedCalls(out, count, projects)
}

// embeddings sends the state of the search by meaning if it is on.
func (c collector) embeddings(gauge, count func(*prometheus.Desc, float64, ...string)) {
	if c.options.Embeddings == nil {
		return
	}
	s := c.options.Embeddings()
	gauge(describe("search_vectors", "Tools whose vectors are in memory."), float64(s.Vectors))
	gauge(describe("search_vector_bytes", "Memory of the vectors of tools."), float64(s.Bytes))
	tasks := describe("search_embeddings_total", "Searches for a task by the use of its vector.", "result")
	count(tasks, float64(s.Used), "used")
	count(tasks, float64(s.Late), "late")
	count(tasks, float64(s.Failed), "failed")
	count(tasks, float64(s.Skipped), "skipped")
}

// backups sends the results of scheduled backups if there is a schedule.
func (c collector) backups(gauge, count func(*prometheus.Desc, float64, ...string)) {
	if c.options.Backups == nil {
		return
	}
	s := c.options.Backups()
	total := describe("backups_total", "Scheduled backups by result.", "result")
	count(total, float64(s.Done), "done")
	count(total, float64(s.Failed), "failed")
	if !s.Last.IsZero() {
		gauge(describe("backup_last_success_timestamp_seconds", "Time of the last scheduled backup. Absent before the first of this process."), float64(s.Last.UnixMilli())/1000)
	}
}

// outbox sends the state of the deliveries of events.
func (c collector) outbox(gauge, count func(*prometheus.Desc, float64, ...string)) {
	if c.options.Outbox == nil {
		return
	}
	s := c.options.Outbox()
	deliveries := describe("outbox_deliveries_total", "Events by the result of their attempts: ok, error, or dead for those that are not repeated.", "result")
	count(deliveries, float64(s.Delivered), "ok")
	count(deliveries, float64(s.Failed), "error")
	count(deliveries, float64(s.Dead), "dead")
	count(describe("outbox_dropped_total", "Events that were dropped because too many waited, or for too long."), float64(s.Dropped))
	waiting := describe("outbox_waiting", "Events behind the position of a destination, at the replica that delivers to it.", "destination")
	for destination, events := range s.Waiting {
		gauge(waiting, float64(events), destination)
	}
}

// servers sends the state of the upstream servers.
func (c collector) servers(projects []Project, gauge func(*prometheus.Desc, float64, ...string)) {
	up := describe("upstream_up", "1 if the last request to the upstream server succeeded, else 0. Absent before the first request.", "project", "server")
	failures := describe("upstream_consecutive_failures", "Consecutive failed requests to the upstream server.", "project", "server")
	open := describe("upstream_breaker_open", "1 while the upstream server's circuit breaker is open, else 0.", "project", "server")
	active := describe("upstream_active_calls", "Calls in flight to the upstream server.", "project", "server")
	waiting := describe("upstream_waiting_calls", "Calls queued for the upstream server.", "project", "server")
	synced := describe("upstream_last_sync_timestamp_seconds", "Time of the last successful sync of the upstream server.", "project", "server")
	ok := describe("upstream_last_sync_success", "1 if the last sync of the upstream server succeeded, else 0.", "project", "server")
	for _, p := range projects {
		for _, s := range p.Servers {
			if s.Tried {
				gauge(up, number(s.Up), p.Slug, s.Alias)
				gauge(failures, float64(s.Failures), p.Slug, s.Alias)
				gauge(open, number(s.Open), p.Slug, s.Alias)
				gauge(active, float64(s.Active), p.Slug, s.Alias)
				gauge(waiting, float64(s.Waiting), p.Slug, s.Alias)
			}
			if s.SyncedAt != nil {
				gauge(synced, float64(s.SyncedAt.UnixMilli())/1000, p.Slug, s.Alias)
			}
			gauge(ok, number(s.SyncOK), p.Slug, s.Alias)
		}
	}
}

func (c collector) countedRequests(out chan<- prometheus.Metric, count func(*prometheus.Desc, float64, ...string)) {
	total := describe("http_requests_total", "HTTP requests by route.", "method", "route", "status")
	byRoute := map[string]*sum{}
	for labels, h := range c.requests.all() {
		var s sum
		s.add(h)
		count(total, float64(s.samples), labels.method, labels.route, strconv.Itoa(labels.status))
		group(byRoute, labels.route).add(h)
	}
	took := describe("http_request_duration_seconds", "Time to first byte of HTTP responses.", "route")
	for route, s := range byRoute {
		send(out, took, s, route)
	}
}

func (c collector) countedCalls(out chan<- prometheus.Metric, count func(*prometheus.Desc, float64, ...string), projects []Project) {
	slugs, servers := map[string]string{other: other}, map[[2]string]bool{{other, other}: true}
	for _, p := range projects {
		slugs[p.ID] = p.Slug
		servers[[2]string{p.ID, activity.ServerBuiltin}] = true
		servers[[2]string{p.ID, activity.ServerNone}] = true
		for _, s := range p.Servers {
			servers[[2]string{p.ID, s.Alias}] = true
		}
	}
	c.calls.keep(func(l callLabels) bool { return servers[[2]string{l.projectID, l.server}] })
	total := describe("tool_calls_total", "Tool calls by outcome.", "project", "server", "outcome")
	byServer := map[[2]string]*sum{}
	for labels, h := range c.calls.all() {
		project, server, outcome := slugs[labels.projectID], labels.server, string(labels.outcome)
		if project == "" {
			continue // added in the meantime
		}
		if outcome == "" {
			outcome = other
		}
		var s sum
		s.add(h)
		count(total, float64(s.samples), project, server, outcome)
		group(byServer, [2]string{project, server}).add(h)
	}
	took := describe("tool_call_duration_seconds", "Duration of tool calls, including the upstream server.", "project", "server")
	for labels, s := range byServer {
		send(out, took, s, labels[0], labels[1])
	}
}

func group[K comparable](groups map[K]*sum, key K) *sum {
	s := groups[key]
	if s == nil {
		s = &sum{}
		groups[key] = s
	}
	return s
}

func send(out chan<- prometheus.Metric, d *prometheus.Desc, s *sum, labels ...string) {
	out <- prometheus.MustNewConstHistogram(d, s.samples, float64(s.micros)/1e6, s.buckets(), labels...)
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("gateway_"+name, help, labels, nil)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
