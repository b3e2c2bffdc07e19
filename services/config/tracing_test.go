package config_test

import (
	"strings"
	"testing"

	"mcpgateway/services/config"
)

func TestTracingStandardVariables(t *testing.T) {
	base := []string{"GATEWAY_DATABASE_URL=sqlite:x", "GATEWAY_SECRETS_KEYS=test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}
	for _, tc := range []struct{ set, endpoint, service, mistake string }{
		{set: "", service: "gateway"},
		{set: "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318", endpoint: "http://127.0.0.1:4318/v1/traces", service: "gateway"},
		{set: "OTEL_EXPORTER_OTLP_ENDPOINT=https://c.example/otlp/ OTEL_SERVICE_NAME=front", endpoint: "https://c.example/otlp/v1/traces", service: "front"},
		{set: "OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://b/x", endpoint: "http://b/x", service: "gateway"},
		{set: "OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_SDK_DISABLED=true", service: "gateway"},
		{set: "OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_TRACES_EXPORTER=none", service: "gateway"},
		{set: "OTEL_EXPORTER_OTLP_ENDPOINT=127.0.0.1:4318", mistake: "OTEL_EXPORTER_OTLP_ENDPOINT: use an http or https URL"},
		{set: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://a", mistake: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: use an http or https URL"},
		{set: "OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_EXPORTER_OTLP_PROTOCOL=grpc", mistake: "OTEL_EXPORTER_OTLP_PROTOCOL: only http/protobuf"},
		{set: "OTEL_EXPORTER_OTLP_ENDPOINT=http://a OTEL_TRACES_SAMPLER=often", mistake: "OTEL_TRACES_SAMPLER: use always_on"},
	} {
		c, err := config.Load(append(strings.Fields(tc.set), base...), "")
		if tc.mistake != "" {
			if err == nil || !strings.Contains(err.Error(), tc.mistake) {
				t.Errorf("%s: %v", tc.set, err)
			}
			continue
		}
		if err != nil || c.Tracing.Endpoint != tc.endpoint || c.Tracing.Service != tc.service {
			t.Errorf("%s: %v, %v", tc.set, c, err)
		}
	}
}
