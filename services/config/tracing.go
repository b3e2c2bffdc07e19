package config

import (
	"net/url"
	"strings"

	"mcpgateway/services/tracing"
)

// Tracing says where traces go, by the variables that OpenTelemetry gives
// every program (OpenTelemetry specification, "Environment Variable
// Specification" and "OTLP Exporter").
type Tracing struct {
	Endpoint string // empty sends none
	Service  string
	Sampler  tracing.Sampler
}

// defaultService is what collectors know the gateway as.
const defaultService = "gateway"

// tracing reads the variables. The headers of the exporter are read by its
// library, from OTEL_EXPORTER_OTLP_HEADERS, because they are credentials.
func (r *reader) tracing(lookup func(string) (string, bool)) Tracing {
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
		r.mistake("%s: use an http or https URL of an OTLP/HTTP collector, such as http://127.0.0.1:4318", name)
	}
	for _, variable := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := get(variable); protocol != "" {
			if protocol != "http/protobuf" {
				r.mistake("%s: only http/protobuf is spoken", variable)
			}
			break
		}
	}
	sampler, err := tracing.NewSampler(get("OTEL_TRACES_SAMPLER"), get("OTEL_TRACES_SAMPLER_ARG"))
	if err != nil {
		r.mistake("%v", err)
	}
	t.Sampler = sampler
	return t
}
