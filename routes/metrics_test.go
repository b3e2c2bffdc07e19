package routes_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes"
	"mcpgateway/routes/routestest"
	"mcpgateway/web/ratelimit"
)

const metricsSecret = "metrics-token-of-the-tests"

// readMetrics returns the status of /metrics, its challenge and its body.
// headers are additional lines, "Name: value".
func readMetrics(t *testing.T, app *fiber.App, host string, headers ...string) (status int, challenge, body string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Host = host
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	answer, err := app.Test(r, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("WWW-Authenticate"), string(b)
}

func TestMetricsAccess(t *testing.T) {
	const (
		own, address, evil = "127.0.0.1:8080", "10.0.0.7:8080", "evil.example"
		right, wrong       = "Authorization: Bearer " + metricsSecret, "Authorization: Bearer " + metricsSecret + "x"
		token, elsewhere   = "GATEWAY_METRICS_TOKEN=" + metricsSecret, "GATEWAY_METRICS_ADDR=127.0.0.1:0"
		off                = "Set GATEWAY_METRICS_TOKEN or GATEWAY_METRICS_ADDR."
	)
	reachable := []string{"GATEWAY_ADDR=0.0.0.0:8080", "GATEWAY_PUBLIC_URL=https://gateway.example"}
	type request struct {
		host, header string
		status       int
		body         string
	}
	for name, tt := range map[string]struct {
		settings []string
		requests []request
	}{
		"loopback": {nil, []request{
			{own, "", 200, "gateway_build_info"}, {"localhost", "", 200, ""}, {evil, "", 403, ""}, {address, "", 403, ""},
			{own, "X-Forwarded-For: 203.0.113.7", 404, off}, {own, "Forwarded: for=203.0.113.7", 404, off}, {own, "Via: 1.1 proxy", 404, off},
		}},
		"loopback behind a trusted proxy": {[]string{"GATEWAY_TRUSTED_PROXIES=0.0.0.0/32"}, []request{{own, "", 404, off}}},
		"loopback with a token": {[]string{token}, []request{
			{own, "", 401, "GATEWAY_METRICS_TOKEN"}, {own, wrong, 401, ""}, {own, "Authorization: Basic " + metricsSecret, 401, ""}, {own, "Authorization: " + metricsSecret, 401, ""},
			{own, "Authorization: Bearer " + routestest.AdminToken, 401, ""}, {own, right, 200, "gateway_build_info"}, {evil, right, 403, ""},
		}},
		"reachable":              {reachable, []request{{"gateway.example", "", 404, off}, {"gateway.example", right, 404, off}, {address, "", 403, ""}}},
		"reachable with a token": {append(reachable, token), []request{{"gateway.example", "", 401, ""}, {"gateway.example", right, 200, "gateway_build_info"}, {address, right, 403, ""}}},
		"elsewhere":              {[]string{elsewhere}, []request{{own, "", 404, "GATEWAY_METRICS_ADDR only"}}},
		"elsewhere with a token": {[]string{elsewhere, token}, []request{{own, "", 404, ""}, {own, right, 404, "GATEWAY_METRICS_ADDR only"}}},
	} {
		t.Run(name, func(t *testing.T) {
			a := routestest.New(t, modelstest.SQLite(t), tt.settings...)
			for _, r := range tt.requests {
				var lines []string
				if r.header != "" {
					lines = []string{r.header}
				}
				status, challenge, body := readMetrics(t, a.App, r.host, lines...)
				if status != r.status || !strings.Contains(body, r.body) || (challenge != "") != (status == 401) {
					t.Errorf("%s %q: %d %q %.200s", r.host, r.header, status, challenge, body)
				}
				if status != 200 && strings.Contains(body, "gateway_build_info") {
					t.Errorf("%s %q: %d with metrics", r.host, r.header, status)
				}
			}
		})
	}
}

func TestMetricsTokenRateLimit(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t), "GATEWAY_METRICS_TOKEN="+metricsSecret)
	read := func(header string) int {
		status, _, _ := readMetrics(t, a.App, "127.0.0.1:8080", header)
		return status
	}
	for n := range ratelimit.MaxAuthFailures {
		if status := read("Authorization: Bearer wrong"); status != http.StatusUnauthorized {
			t.Fatalf("failure %d: %d", n+1, status)
		}
	}
	if status := read("Authorization: Bearer wrong"); status != http.StatusTooManyRequests {
		t.Errorf("failure %d: %d", ratelimit.MaxAuthFailures+1, status)
	}
	if status := read("Authorization: Bearer " + metricsSecret); status != http.StatusOK {
		t.Errorf("correct token: status %d", status)
	}
}

func TestMetricsListener(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t), "GATEWAY_ADDR=0.0.0.0:8080", "GATEWAY_PUBLIC_URL=https://gateway.example",
		"GATEWAY_ALLOWED_HOSTS=gateway", "GATEWAY_METRICS_ADDR=0.0.0.0:9090")
	app := routes.NewMetrics(a.Services, slog.New(slog.DiscardHandler))
	for host, want := range map[string]int{"10.0.0.7:9090": 200, "[2001:db8::7]:9090": 200, "gateway:9090": 200, "gateway.example": 200, "evil.example": 403, "localhost:9090": 403} {
		if status, _, body := readMetrics(t, app, host, "X-Forwarded-For: 203.0.113.7"); status != want || (want == 200) != strings.Contains(body, "gateway_build_info") {
			t.Errorf("%s: %d %.200s", host, status, body)
		}
	}
	for _, path := range []string{"/", "/healthz", "/login", "/api/projects", "/v1/mcp/p/request", "/metrics/x"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "10.0.0.7"
		answer, err := app.Test(r, -1)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusNotFound || answer.Body.Close() != nil {
			t.Errorf("%s: %d", path, answer.StatusCode)
		}
	}
}
