package manifests

import (
	"bytes"
	"encoding/json"
)

// panel is a chart of the dashboard.
type panel struct{ title, expr, legend, unit string }

// panels are the charts, two in a row.
var panels = []panel{
	{"Calls per second", `sum by (server) (rate(gateway_tool_calls_total{project=~"$project"}[$__rate_interval]))`, "{{server}}", "reqps"},
	{"Failed calls", `sum by (server, outcome) (rate(gateway_tool_calls_total{project=~"$project",outcome!="ok"}[$__rate_interval]))`, "{{server}} {{outcome}}", "reqps"},
	{"95th percentile of calls", `histogram_quantile(0.95, sum by (le, server) (rate(gateway_tool_call_duration_seconds_bucket{project=~"$project"}[$__rate_interval])))`, "{{server}}", "s"},
	{"Calls in flight", `sum by (server) (gateway_upstream_active_calls{project=~"$project"})`, "{{server}}", "short"},
	{"Calls that wait for a slot", `sum by (server) (gateway_upstream_waiting_calls{project=~"$project"})`, "{{server}}", "short"},
	{"Servers that respond", `min by (project, server) (gateway_upstream_up{project=~"$project"})`, "{{project}} {{server}}", "bool_yes_no"},
	{"Requests per second", `sum by (status) (rate(gateway_http_requests_total[$__rate_interval]))`, "{{status}}", "reqps"},
	{"95th percentile of requests", `histogram_quantile(0.95, sum by (le, route) (rate(gateway_http_request_duration_seconds_bucket[$__rate_interval])))`, "{{route}}", "s"},
	{"Open streams", `sum by (kind) (gateway_open_streams)`, "{{kind}}", "short"},
	{"Memory of processes", `process_resident_memory_bytes{job="gateway"}`, "{{instance}}", "bytes"},
	{"Syncs", `sum by (result) (rate(gateway_syncs_total[$__rate_interval]))`, "{{result}}", "ops"},
	{"Lost calls and panics", `sum(increase(gateway_calls_lost_total[$__rate_interval])) + sum(increase(gateway_panics_total[$__rate_interval]))`, "events", "short"},
}

// dashboard returns the dashboard as the JSON that Grafana imports.
func dashboard() ([]byte, error) {
	type object = map[string]any
	source := object{"type": "prometheus", "uid": "${datasource}"}
	var charts []object
	for n, p := range panels {
		charts = append(charts, object{
			"id": n + 1, "type": "timeseries", "title": p.title, "datasource": source,
			"gridPos":     object{"x": 12 * (n % 2), "y": 8 * (n / 2), "w": 12, "h": 8},
			"fieldConfig": object{"defaults": object{"unit": p.unit, "min": 0}, "overrides": []any{}},
			"targets":     []object{{"refId": "A", "datasource": source, "expr": p.expr, "legendFormat": p.legend}},
		})
	}
	variables := []object{
		{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
		{"name": "project", "type": "query", "label": "Project", "datasource": source, "query": "label_values(gateway_tool_calls_total, project)", "refresh": 2, "includeAll": true, "multi": true, "allValue": ".*"},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(object{
		"uid": "mcp-gateway", "title": "MCP gateway", "tags": []string{"mcp"}, "schemaVersion": 39, "version": 1, "editable": true,
		"time": object{"from": "now-6h", "to": "now"}, "refresh": "30s", "templating": object{"list": variables}, "panels": charts,
	})
	return b.Bytes(), err
}
