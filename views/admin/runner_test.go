package admin_test

import (
	"os"
	"strings"
	"testing"

	"mcpgateway/views/admin"
)

func TestRunnerCommands(t *testing.T) {
	for _, tc := range []struct{ name, gateway, connection, network string }{
		{"https", "https://gw.example.com", "--connect https://gw.example.com \\\n  --token-file ", ""},
		{"plain http", "http://gw.example.com:8080", "--connect http://gw.example.com:8080 \\\n  --allow-http \\\n  --token-file ", ""},
		{"loopback address", "http://127.0.0.1:8080", "--connect http://127.0.0.1:8080 \\\n  --token-file ", "--network host \\\n"},
		{"loopback of IPv6", "http://[::1]:8080", "--connect http://[::1]:8080 \\\n  --token-file ", "--network host \\\n"},
		{"localhost", "http://localhost:8080", "--connect http://localhost:8080 \\\n  --token-file ", "--network host \\\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got, want := admin.ConnectRunner(tc.gateway), "gateway runner --local servers.json \\\n  "+tc.connection+"token"; got != want {
				t.Errorf("ConnectRunner() = %q, want %q", got, want)
			}
			got := admin.DockerRunner(tc.gateway, nil)
			if !strings.HasSuffix(got, tc.connection+"/run/secrets/runner") || strings.Contains(got, "--network") != (tc.network != "") || !strings.Contains(got, tc.network) || strings.Contains(got, "-e ") {
				t.Errorf("DockerRunner() = %q", got)
			}
		})
	}
}

// The commands fit the image and the service of compose.yaml.
func TestDockerRunnerFitsImage(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, image, found := strings.Cut(read("Dockerfile"), " AS runner\n")
	image, _, _ = strings.Cut(image, "\nFROM ")
	if !found || !strings.Contains(admin.BuildRunner(), "--target runner --tag gateway-runner") {
		t.Fatalf("no target runner for %s", admin.BuildRunner())
	}
	run := admin.DockerRunner("https://gw.example.com", []string{"A", "B"})
	for _, part := range []string{`ENTRYPOINT ["/usr/local/bin/gateway", "runner"]`, "USER 1000:", "VOLUME /home/node\n"} {
		if !strings.Contains(image, part) {
			t.Errorf("the image lacks %s, on which %s relies", part, run)
		}
	}
	for _, part := range []string{"gateway-runner --local /servers.json \\\n", "-v gateway-runner:/home/node \\\n", "-e A -e B \\\n", "/token:/run/secrets/runner:ro"} {
		if !strings.Contains(run, part) {
			t.Errorf("DockerRunner() lacks %q: %s", part, run)
		}
	}
	_, service, _ := strings.Cut(read("compose.yaml"), "\n  runner:\n")
	for _, part := range []string{"target: runner", `"--token-file", "/run/secrets/runner", "--local", "/servers.json"`, "- runner:/home/node"} {
		if !strings.Contains(service, part) {
			t.Errorf("the service runner lacks %s", part)
		}
	}
}
