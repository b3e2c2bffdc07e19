package config

import (
	"net/url"
	"strings"

	"mcpgateway/services/tracing"
)

// Tracing configures trace export by OpenTelemetry's standard variables
// (OpenTelemetry specification, "Environment Variable Specification" and "OTLP
// Exporter").
type Tracing struct {
	Endpoint string // empty disables export
	Service  string
	Sampler  tracing.Sampler
}

// defaultService is the default service name.
const defaultService = "gateway"

// tracing loads the variables. The exporter's library reads its headers from
// OTEL_EXPORTER_OTLP_HEADERS, because they are credentials.
func (r *loader) tracing(lookup func(string) (string, bool)) Tracing {
	get := func(name string) string {
		value, _ := lookup(name)
		return strings.TrimSpace(value)
	}
	t := Tracing{Service: get("OTEL_SERVICE_NAME")}
	if t.Service == "" {
		t.Service = defaultService
	}
	if strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") || get("OTEL_TRACES_EXPORTER") == "none" {
		return t
	}
	name := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	t.Endpoint = get(name)
	if t.Endpoint == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
		if t.Endpoint = get(name); t.Endpoint == "" {
			return t
		}
		t.Endpoint = strings.TrimSuffix(t.Endpoint, "/") + "/v1/traces"
	}
	if u, err := url.Parse(t.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		r.addProblem("%s: use an http or https URL of an OTLP/HTTP collector, such as http://127.0.0.1:4318", name)
	}
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := get(variable); protocol != "" {
			if protocol != "http/protobuf" {
				r.addProblem("%s: only http/protobuf is supported", variable)
			}
			break
		}
	}
	sampler, err := tracing.NewSampler(get("OTEL_TRACES_SAMPLER"), get("OTEL_TRACES_SAMPLER_ARG"))
	if err != nil {
		r.addProblem("%v", err)
	}
	t.Sampler = sampler
	return t
}
