package parsers

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// settings are those in force while files are printed, some of them hard to quote.
var settings = []string{
	"GATEWAY_PUBLIC_URL=https://mcp.example.org", "GATEWAY_ADMIN_TOKEN=c4nary-c4nary-c4nary", "GATEWAY_DATABASE_URL=postgres://g:c4nary@db/g",
	"GATEWAY_SECRETS_KEYS=k1:c4nary", "GATEWAY_DRAIN_DELAY=20s", "GATEWAY_ALLOWED_HOSTS=" + hosts, "GATEWAY_MAX_STREAMS=100",
}

const hosts = `a: b # "c" ${d} $$ %f`

var binary string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "parsers")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "gateway")
	build := exec.Command("go", "build", "-C", filepath.Join("..", "..", ".."), "-o", binary, "./cmd/gateway")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		panic(err)
	}
	return m.Run()
}

// printed returns the output of `gateway print`.
func printed(t *testing.T, kind string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	run := exec.Command(binary, "print", kind)
	run.Env, run.Stdout, run.Stderr = settings, &out, &errs
	if err := run.Run(); err != nil {
		t.Fatalf("%s: %v: %s", kind, err, errs.String())
	}
	if strings.Contains(out.String(), "c4nary") {
		t.Errorf("%s has a secret", kind)
	}
	return out.Bytes()
}

func TestKubernetes(t *testing.T) {
	var deployment apps.Deployment
	var service core.Service
	var budget policy.PodDisruptionBudget
	var network networking.NetworkPolicy
	found := []any{&deployment, &service, &budget, &network}
	documents := bytes.Split(printed(t, "kubernetes"), []byte("\n---\n"))
	if len(documents) != len(found) {
		t.Fatalf("%d documents, want %d", len(documents), len(found))
	}
	for n, into := range found {
		if err := yaml.UnmarshalStrict(documents[n], into); err != nil {
			t.Fatalf("document %d: %v", n, err)
		}
	}
	pod := deployment.Spec.Template
	if *deployment.Spec.Replicas != 2 || *pod.Spec.TerminationGracePeriodSeconds != 50 || !*pod.Spec.SecurityContext.RunAsNonRoot {
		t.Errorf("deployment = %+v", deployment.Spec)
	}
	container := pod.Spec.Containers[0]
	if !*container.SecurityContext.ReadOnlyRootFilesystem || *container.SecurityContext.AllowPrivilegeEscalation || container.ReadinessProbe.HTTPGet.Path != "/readyz" || container.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("container = %+v", container)
	}
	environ := map[string]core.EnvVar{}
	for _, v := range container.Env {
		environ[v.Name] = v
	}
	if strings.ReplaceAll(environ["GATEWAY_ALLOWED_HOSTS"].Value, "$$", "$") != hosts || environ["GATEWAY_DRAIN_DELAY"].Value != "20s" || environ["GATEWAY_ADMIN_TOKEN"].ValueFrom.SecretKeyRef.Key != "admin-token" {
		t.Errorf("environment = %+v", environ)
	}
	ports := map[string]bool{}
	for _, p := range container.Ports {
		ports[p.Name] = true
	}
	for _, selector := range []map[string]string{deployment.Spec.Selector.MatchLabels, service.Spec.Selector, budget.Spec.Selector.MatchLabels, network.Spec.PodSelector.MatchLabels} {
		if selector["app"] == "" || selector["app"] != pod.Labels["app"] {
			t.Errorf("selector %v doesn't match the pods %v", selector, pod.Labels)
		}
	}
	if !ports[service.Spec.Ports[0].TargetPort.String()] || !ports[network.Spec.Ingress[0].Ports[0].Port.String()] || !ports[network.Spec.Ingress[1].Ports[0].Port.String()] {
		t.Errorf("ports %v, service %+v, network %+v", ports, service.Spec.Ports, network.Spec.Ingress)
	}
	if budget.Spec.MinAvailable.IntValue() != 1 {
		t.Errorf("budget = %+v", budget.Spec)
	}
}

func TestCompose(t *testing.T) {
	details := types.ConfigDetails{
		WorkingDir: t.TempDir(), ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: printed(t, "compose")}},
		Environment: types.Mapping{"POSTGRES_PASSWORD": "p", "GATEWAY_SECRETS_KEYS": "k", "GATEWAY_ADMIN_TOKEN": "a"},
	}
	project, err := loader.LoadWithContext(t.Context(), details, func(o *loader.Options) { o.SetProjectName("gateway", true) })
	if err != nil {
		t.Fatal(err)
	}
	gateway := project.Services["gateway"]
	if got := gateway.Environment["GATEWAY_ALLOWED_HOSTS"]; got == nil || *got != hosts || *gateway.Environment["GATEWAY_ADMIN_TOKEN"] != "a" {
		t.Errorf("environment = %v", gateway.Environment)
	}
	if !gateway.ReadOnly || gateway.User == "" || gateway.StopGracePeriod.String() != "50s" {
		t.Errorf("service = %+v", gateway)
	}
	delete(details.Environment, "GATEWAY_SECRETS_KEYS")
	if _, err := loader.LoadWithContext(t.Context(), details, func(o *loader.Options) { o.SetProjectName("gateway", true) }); err == nil {
		t.Error("loads without its keys")
	}
}

func TestPrometheusRules(t *testing.T) {
	groups, errs := rulefmt.Parse(printed(t, "prometheus-rules"), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if len(groups.Groups) != 1 || len(groups.Groups[0].Rules) < 5 {
		t.Errorf("groups = %+v", groups.Groups)
	}
}

func TestGrafana(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(printed(t, "grafana"), &dashboard); err != nil {
		t.Fatal(err)
	}
	var ids []int
	variables := strings.NewReplacer("$__rate_interval", "5m", "$project", ".*")
	for _, panel := range dashboard.Panels {
		ids = append(ids, panel.ID)
		for _, target := range panel.Targets {
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(variables.Replace(target.Expr)); err != nil {
				t.Errorf("%s: %v", panel.Title, err)
			}
		}
	}
	if len(ids) < 5 || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
		t.Errorf("panels %v", ids)
	}
}

// TestSystemd runs systemd-analyze on the unit where it is installed.
func TestSystemd(t *testing.T) {
	unit := string(printed(t, "systemd"))
	if !strings.Contains(unit, "\nExecStart=/usr/local/bin/gateway serve\n") || !strings.Contains(unit, "\nTimeoutStopSec=50\n") {
		t.Errorf("unit:\n%s", unit)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Log("systemd-analyze isn't installed")
		return
	}
	file := filepath.Join(t.TempDir(), "gateway.service")
	if err := os.WriteFile(file, []byte(strings.Replace(unit, "/usr/local/bin/gateway", binary, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", file).CombinedOutput(); err != nil || strings.Contains(string(out), "gateway.service") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestNginx runs nginx -t on the configuration where it is installed, and checks
// its braces and ends of lines elsewhere.
func TestNginx(t *testing.T) {
	config := string(printed(t, "nginx"))
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.ContainsAny(line[len(line)-1:], ";{}") {
			t.Errorf("incomplete line %q", line)
		}
	}
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		t.Log("nginx isn't installed")
		return
	}
	dir := t.TempDir()
	key, certificate := filepath.Join(dir, "gateway.key"), filepath.Join(dir, "gateway.pem")
	if out, err := exec.Command("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=mcp.example.org", "-keyout", key, "-out", certificate).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	config = strings.NewReplacer("/etc/ssl/gateway.key", key, "/etc/ssl/gateway.pem", certificate).Replace(config)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte("pid "+filepath.Join(dir, "pid")+";\nevents {}\nhttp {\n"+config+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(nginx, "-t", "-c", file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
