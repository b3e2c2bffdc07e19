package manifests

// Rule is an alert of Prometheus.
type Rule struct {
	Name, Expr, For, Severity, Summary string
}

// Rules are the alerts.
var Rules = []Rule{
	{"GatewayDown", `up{job="gateway"} == 0`, "2m", "critical", "A process of the gateway doesn't respond."},
	{"GatewayErrors", `sum(rate(gateway_http_requests_total{status=~"5.."}[5m])) / sum(rate(gateway_http_requests_total[5m])) > 0.05`, "10m", "critical", "More than 5 % of the requests fail."},
	{"GatewayUpstreamDown", `gateway_upstream_breaker_open == 1`, "5m", "warning", "Calls to {{ $labels.server }} of {{ $labels.project }} are paused after failures."},
	{"GatewaySyncFailing", `gateway_upstream_last_sync_success == 0`, "1h", "warning", "The tools of {{ $labels.server }} of {{ $labels.project }} can't be read."},
	{"GatewayCallsFailing", `sum by (project, server) (rate(gateway_tool_calls_total{outcome="error"}[5m])) / sum by (project, server) (rate(gateway_tool_calls_total[5m])) > 0.1`, "10m", "warning", "More than 10 % of the calls to {{ $labels.server }} of {{ $labels.project }} fail."},
	{"GatewayCallsSlow", `histogram_quantile(0.95, sum by (le, project, server) (rate(gateway_tool_call_duration_seconds_bucket[5m]))) > 10`, "10m", "warning", "The 95th percentile of calls to {{ $labels.server }} of {{ $labels.project }} is above 10 seconds."},
	{"GatewayCallsQueued", `gateway_upstream_waiting_calls > 0`, "5m", "warning", "Calls wait for a free slot of {{ $labels.server }} of {{ $labels.project }}."},
	{"GatewayCallLogLoss", `increase(gateway_calls_lost_total[15m]) > 0`, "0m", "warning", "Calls are missing from the call log."},
	{"GatewayPanic", `increase(gateway_panics_total[1h]) > 0`, "0m", "critical", "A background task had a panic: search the log."},
	{"GatewayBackupFailed", `increase(gateway_backups_total{result="failed"}[1h]) > 0`, "0m", "critical", "A scheduled backup failed: search the log."},
}
