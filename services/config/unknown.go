package config

import (
	"reflect"
	"slices"
	"strings"
)

// runnerToken is the setting of `gateway runner`, which the server ignores.
const runnerToken = "GATEWAY_RUNNER_TOKEN"

// unknownSettings returns the sorted names in the environment that look like
// settings but are unknown, mostly because of typos. Variables that Kubernetes
// derives from a service called gateway are ignored.
func unknownSettings(environ []string) []string {
	known := settingNames()
	var unknown []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		switch {
		case !strings.HasPrefix(name, "GATEWAY_"), name == runnerToken, known[name], known[strings.TrimSuffix(name, "_FILE")],
			strings.HasPrefix(name, "GATEWAY_SERVICE_"), strings.HasPrefix(name, "GATEWAY_PORT"):
		default:
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}

// settingNames returns the names of all settings.
func settingNames() map[string]bool {
	names := map[string]bool{}
	settings := reflect.TypeFor[variables]()
	for i := range settings.NumField() {
		names[settings.Field(i).Tag.Get("env")] = true
	}
	return names
}
