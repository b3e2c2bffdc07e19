package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcpgateway/services/manifests"
)

// processMetrics are those of the client library of Prometheus.
var processMetrics = []string{"process_resident_memory_bytes", "up"}

// TestPrintedMetricsExist compares the metrics in the dashboard and the alerts
// with those of the product, which TestPublicNames lists.
func TestPrintedMetricsExist(t *testing.T) {
	names, err := os.ReadFile(filepath.Join("testdata", "names.txt"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, name := range processMetrics {
		known[name] = true
	}
	for _, found := range regexp.MustCompile(`(?m)^metric (\w+)\{`).FindAllSubmatch(names, -1) {
		known[string(found[1])] = true
	}
	metric := regexp.MustCompile(`\b(gateway_\w+|process_\w+)`)
	for _, kind := range []string{"grafana", "prometheus-rules"} {
		code, out, errs := commandLine(t, nil, "", "print", kind)
		if code != 0 {
			t.Fatalf("%s: %s", kind, errs)
		}
		used := metric.FindAllString(out, -1)
		if len(used) < 5 {
			t.Errorf("%s uses %q", kind, used)
		}
		for _, name := range used {
			if !known[name] && !known[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%s uses %s, which isn't a metric", kind, name)
			}
		}
	}
}

func TestPrintUsage(t *testing.T) {
	for _, args := range [][]string{{"print"}, {"print", "helm"}, {"print", "nginx", "caddy"}} {
		if code, out, errs := commandLine(t, nil, "", args...); code != exitUsage || out != "" || !strings.Contains(errs, strings.Join(manifests.Kinds, ", ")) {
			t.Errorf("%v: exit code %d, %s%s", args, code, out, errs)
		}
	}
	if code, _, errs := commandLine(t, []string{"GATEWAY_DRAIN_DELAY=soon"}, "", "print", "systemd"); code != exitUsage || !strings.Contains(errs, "configuration: GATEWAY_DRAIN_DELAY") {
		t.Errorf("invalid setting: %d, %s", code, errs)
	}
	if code, out, errs := commandLine(t, []string{"GATEWAY_PUBLIC_URL=https://mcp.example.org"}, "", "print", "caddy"); code != 0 || !strings.Contains(out, "https://mcp.example.org {") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}
