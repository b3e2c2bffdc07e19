package main

import (
	"context"
	"maps"
	"slices"
	"strings"
)

const runnerUsage = `runner --local FILE … (--connect URL [--prefix P] [--allow-http] | --listen 127.0.0.1:PORT|unix:PATH) [--token-file F] [--state DIR] [--max-processes N] [--watch]
  | check --local FILE … | status [--json] | logs NAME | restart NAME | stop NAME | reload [--state DIR]`

// runnerCommand runs a runner, or a subcommand of `gateway runner`.
func runnerCommand(ctx context.Context, std streams, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		return runnerRun(ctx, std, args)
	}
	verbs := map[string]func(context.Context, streams, []string) error{
		"check": runnerCheck, "status": runnerStatus, "logs": runnerLogs, "restart": runnerRestart, "stop": runnerStop, "reload": runnerReload,
	}
	if len(args) == 0 || verbs[args[0]] == nil {
		return usagef("missing subcommand: %s, or --local FILE", strings.Join(slices.Sorted(maps.Keys(verbs)), ", "))
	}
	return verbs[args[0]](ctx, std, args[1:])
}
