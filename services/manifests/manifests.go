// Package manifests writes the files with which the gateway is run and watched:
// manifests, service units, configurations of proxies, a dashboard and alerts.
package manifests

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"text/template"
	"time"

	"mcpgateway/services/config"
)

//go:embed templates/*.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"q":      quote,
	"dollar": func(s string) string { return quote(strings.ReplaceAll(s, "$", "$$")) }, // Kubernetes and Compose read $$ as $
	"unit":   func(s string) string { return quote(strings.ReplaceAll(s, "%", "%%")) },
	"key": func(s string) string {
		return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(s, "GATEWAY_"), "_", "-"))
	},
}).ParseFS(files, "templates/*.tmpl"))

// Kinds are the kinds of files, in the order of the help.
var Kinds = []string{"kubernetes", "compose", "systemd", "nginx", "caddy", "grafana", "prometheus-rules"}

const (
	// probeTime is the time in which Kubernetes notices that a pod isn't ready:
	// periodSeconds times failureThreshold of the readiness probe.
	probeTime = 10 * time.Second
	// stopTime is the time for calls and local servers to end after the drain
	// delay.
	stopTime = 25 * time.Second
	// placeholder is the address without a setting.
	placeholder = "https://gateway.example.com"
)

// values are the input of the templates.
type values struct {
	Image     string
	PublicURL string
	Host      string // of the public URL
	Port      string // of the public URL, 443 or 80 by default
	TLS       bool   // whether the public URL is https
	Upstream  string // host and port at which a proxy on the same machine reaches the gateway
	Drain     time.Duration
	Grace     int // seconds between the signal to stop and the end of the process
	Memory    int // MiB of the limit
	Open      []config.Setting
	Secrets   []config.Setting
	Rules     []Rule
}

// Print returns the file of a kind for the settings of an environment. Secrets are
// references, never values. version is that of the image. It returns an error for
// an unknown kind and for settings that can't be parsed.
func Print(kind string, environ []string, version string) ([]byte, error) {
	if !slices.Contains(Kinds, kind) {
		return nil, fmt.Errorf("unknown kind %q: use %s", kind, strings.Join(Kinds, ", "))
	}
	set, err := config.InForce(environ)
	if err != nil {
		return nil, err
	}
	if kind == "grafana" {
		return dashboard()
	}
	v, err := valuesOf(kind, set, version)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = templates.ExecuteTemplate(&b, kind+".tmpl", v)
	return b.Bytes(), err
}

// replaced are the settings that a kind sets itself, by kind.
var replaced = map[string][]string{
	"kubernetes": {"GATEWAY_ADDR", "GATEWAY_METRICS_ADDR", "GATEWAY_PUBLIC_URL", "GATEWAY_DRAIN_DELAY", "GATEWAY_BACKUP_DIR", "GATEWAY_TSC"},
	"compose":    {"GATEWAY_ADDR", "GATEWAY_METRICS_ADDR", "GATEWAY_PUBLIC_URL", "GATEWAY_DRAIN_DELAY", "GATEWAY_BACKUP_DIR", "GATEWAY_TSC", "GATEWAY_DATABASE_URL"},
	"systemd":    {"GATEWAY_ADDR", "GATEWAY_PUBLIC_URL", "GATEWAY_DRAIN_DELAY"},
}

func valuesOf(kind string, set []config.Setting, version string) (*values, error) {
	given := map[string]string{}
	v := &values{Image: "registry.example.com/gateway:" + version, Rules: Rules}
	for _, s := range set {
		given[s.Name] = s.Value
		switch {
		case slices.Contains(replaced[kind], s.Name):
		case s.Secret:
			v.Secrets = append(v.Secrets, s)
		default:
			v.Open = append(v.Open, s)
		}
	}
	if kind == "kubernetes" { // required with PostgreSQL
		for _, name := range []string{"GATEWAY_SECRETS_KEYS", "GATEWAY_DATABASE_URL"} {
			if !slices.ContainsFunc(v.Secrets, func(s config.Setting) bool { return s.Name == name }) {
				v.Secrets = append([]config.Setting{{Name: name, Secret: true}}, v.Secrets...)
			}
		}
	}
	v.PublicURL = cmp.Or(given["GATEWAY_PUBLIC_URL"], placeholder)
	public, err := url.Parse(v.PublicURL)
	if err != nil || !config.IsOrigin(public) || strings.ContainsAny(public.Host, " \t\r\n\"'{};$") {
		return nil, fmt.Errorf("GATEWAY_PUBLIC_URL: %q is not an origin such as %s", v.PublicURL, placeholder)
	}
	v.PublicURL, v.Host, v.TLS = public.Scheme+"://"+public.Host, public.Hostname(), public.Scheme == "https"
	v.Port = cmp.Or(public.Port(), map[bool]string{true: "443", false: "80"}[v.TLS])
	if v.Upstream, err = upstream(given["GATEWAY_ADDR"]); err != nil {
		return nil, err
	}
	drain, err := time.ParseDuration(cmp.Or(given["GATEWAY_DRAIN_DELAY"], "0s"))
	if err != nil {
		return nil, fmt.Errorf("GATEWAY_DRAIN_DELAY: %w", err)
	}
	if v.Drain = drain; kind == "kubernetes" {
		v.Drain = max(drain, probeTime+5*time.Second)
	}
	v.Grace = int((v.Drain+stopTime)/time.Second) + 5
	v.Memory = 2048
	return v, nil
}

// upstream returns the address of the gateway for a proxy on the same machine.
func upstream(addr string) (string, error) {
	host, port, err := net.SplitHostPort(cmp.Or(addr, "127.0.0.1:8080"))
	if err != nil || strings.ContainsAny(addr, " \t\r\n;{}\"'$") {
		return "", fmt.Errorf("GATEWAY_ADDR: %q is not HOST:PORT", addr)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// quote returns a JSON string, which is also one of YAML and of a systemd unit.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // texts can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
