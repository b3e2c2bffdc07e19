package main

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

func TestMetricsListenerServes(t *testing.T) {
	s := startServing(t, surroundings(t, "GATEWAY_METRICS_ADDR=127.0.0.1:0"))
	read := func(url string) (int, string) {
		t.Helper()
		resp, err := http.Get(url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if status, body := read("http://" + s.metrics); status != http.StatusOK || !strings.Contains(body, "gateway_build_info") {
		t.Errorf("/metrics on the metrics listener: status %d: %.200s", status, body)
	}
	if status, body := read(s.url); status != http.StatusNotFound || !strings.Contains(body, "GATEWAY_METRICS_ADDR") {
		t.Errorf("/metrics on the main listener: status %d: %.200s", status, body)
	}
	s.end()
	if code := <-s.code; code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, err := http.Get("http://" + s.metrics + "/metrics"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("GET /metrics after shutdown = %v, want connection refused", err)
	}
}

func TestMetricsListenerInUse(t *testing.T) {
	s := startServing(t, surroundings(t))
	code, _, errs := commandLine(t, surroundings(t, "GATEWAY_METRICS_ADDR="+strings.TrimPrefix(s.url, "http://")), "", "serve", "--addr", "127.0.0.1:0")
	if code != exitFailed || !strings.Contains(errs, "address already in use") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
