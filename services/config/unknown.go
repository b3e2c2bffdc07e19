package config

import (
	"reflect"
	"slices"
	"strings"
)

// unknownSettings returns the names in the environment that look like settings
// and are none, in order: most are misspelt. Kubernetes names variables after a
// service that is called gateway; those are left out.
func unknownSettings(environ []string) []string {
	known := map[string]bool{}
	settings := reflect.TypeFor[variables]()
	for i := range settings.NumField() {
		known[settings.Field(i).Tag.Get("env")] = true
	}
	var unknown []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		switch {
		case !strings.HasPrefix(name, "GATEWAY_"), known[strings.TrimSuffix(name, "_FILE")],
			strings.HasPrefix(name, "GATEWAY_SERVICE_"), strings.HasPrefix(name, "GATEWAY_PORT"):
		default:
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}
