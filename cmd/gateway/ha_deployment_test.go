//go:build ha

package main_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deployment is the part of a Kubernetes Deployment that decides how its processes
// are started, probed, replaced and ended.
type deployment struct {
	Spec struct {
		Replicas int
		Strategy struct {
			Type          string
			RollingUpdate struct{ MaxSurge, MaxUnavailable int }
		}
		Template struct{ Spec podSpec }
	}
}

type podSpec struct {
	TerminationGracePeriodSeconds int
	Containers                    []container
}

type container struct {
	Args      []string
	Ports     []containerPort
	Env       []envVar
	Lifecycle json.RawMessage

	StartupProbe, ReadinessProbe, LivenessProbe probe
}

type containerPort struct {
	Name          string
	ContainerPort int
}

type envVar struct {
	Name, Value string
	ValueFrom   struct {
		SecretKeyRef struct{ Name, Key string }
	}
}

type probe struct {
	HTTPGet                                         struct{ Path, Port string }
	PeriodSeconds, TimeoutSeconds, FailureThreshold int
}

// withDefaults returns the probe with those of Kubernetes.
func (p probe) withDefaults() probe {
	p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold = cmp.Or(p.PeriodSeconds, 10), cmp.Or(p.TimeoutSeconds, 1), cmp.Or(p.FailureThreshold, 3)
	return p
}

// printDeployment returns the Deployment that `gateway print kubernetes` prints
// with the settings, read by the parser of Kubernetes.
func printDeployment(t *testing.T, s *stage, settings ...string) *deployment {
	t.Helper()
	run := func(name, path, dir string, env []string, args ...string) string {
		return mustRun(t, program{name: name, path: path, args: args, dir: dir, env: env}, buildLimit)
	}
	printed := run("gateway print", s.binary, s.folder, append(bareEnvironment(s.folder), settings...), "print", "kubernetes")
	file, parser := filepath.Join(s.folder, "gateway.yaml"), filepath.Join(s.folder, "deployment")
	if err := os.WriteFile(file, []byte(printed), 0o600); err != nil {
		t.Fatal(err)
	}
	run("go build ./deployment", "go", filepath.Join(s.root, "cmd", "conformance", "parsers"), os.Environ(), "build", "-o", parser, "./deployment")
	parsed := run("deployment", parser, s.folder, nil, file)
	d := new(deployment)
	if err := json.Unmarshal([]byte(parsed), d); err != nil {
		t.Fatal(err)
	}
	spec := &d.Spec.Template.Spec
	if d.Spec.Strategy.Type != "RollingUpdate" || d.Spec.Strategy.RollingUpdate.MaxSurge+d.Spec.Strategy.RollingUpdate.MaxUnavailable < 1 {
		t.Fatalf("strategy %+v can't replace pods", d.Spec.Strategy)
	}
	if len(spec.Containers) != 1 || spec.Containers[0].Lifecycle != nil {
		t.Fatalf("containers %+v, want one without hooks", spec.Containers)
	}
	c := &spec.Containers[0]
	c.StartupProbe, c.ReadinessProbe, c.LivenessProbe = c.StartupProbe.withDefaults(), c.ReadinessProbe.withDefaults(), c.LivenessProbe.withDefaults()
	return d
}

// environment returns the variables of a container: references are replaced by
// values of the secret, by NAME/KEY, and ports by addresses, by name. A key or a port
// that only one side has fails the test. Kubernetes reads $$ as a dollar.
func (c *container) environment(t *testing.T, secret, addresses map[string]string) []string {
	t.Helper()
	var all []string
	unused, listening := maps.Clone(secret), map[string]string{}
	for _, port := range c.Ports {
		listening[fmt.Sprintf("0.0.0.0:%d", port.ContainerPort)] = addresses[port.Name]
	}
	for _, v := range c.Env {
		value := strings.ReplaceAll(v.Value, "$$", "$")
		if ref := v.ValueFrom.SecretKeyRef; ref.Key != "" {
			key, known := ref.Name+"/"+ref.Key, false
			if value, known = secret[key]; !known {
				t.Errorf("%s: no secret has the key %s", v.Name, key)
			}
			delete(unused, key)
		}
		if address, found := listening[value]; found {
			delete(listening, value)
			value = address
		}
		all = append(all, v.Name+"="+value)
	}
	if len(unused)+len(listening) > 0 {
		t.Errorf("no setting has the keys and ports %v", slices.Concat(slices.Collect(maps.Keys(unused)), slices.Collect(maps.Keys(listening))))
	}
	return all
}
