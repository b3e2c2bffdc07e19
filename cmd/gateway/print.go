package main

import (
	"context"
	"slices"
	"strings"

	"mcpgateway/services/manifests"
)

// printUsage is the usage of `gateway print`.
const printUsage = "print kubernetes|compose|systemd|nginx|caddy|grafana|prometheus-rules"

// printManifest implements `gateway print`: it writes a file for running or
// watching the gateway with the settings of the environment.
func printManifest(_ context.Context, std streams, args []string) error {
	rest, err := parseSome(flags(std, "print"), args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return usagef("missing kind: use one of %s", strings.Join(manifests.Kinds, ", "))
	}
	if !slices.Contains(manifests.Kinds, rest[0]) {
		return usagef("unknown kind %q: use one of %s", rest[0], strings.Join(manifests.Kinds, ", "))
	}
	raw, err := manifests.Print(rest[0], std.environ, version)
	if err != nil {
		return errConfig{err}
	}
	_, err = std.out.Write(raw)
	return err
}
