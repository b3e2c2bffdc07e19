package main

import "context"

// runnerCommand runs a subcommand of `gateway runner`.
func runnerCommand(ctx context.Context, std streams, args []string) error {
	verbs := map[string]func(context.Context, streams, []string) error{"check": runnerCheck}
	if len(args) == 0 || verbs[args[0]] == nil {
		return usagef("missing subcommand: check")
	}
	return verbs[args[0]](ctx, std, args[1:])
}
