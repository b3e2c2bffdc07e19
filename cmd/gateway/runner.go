package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpgateway/services/runner/files"
	"mcpgateway/services/runner/trusted"
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
		return subcommandError(args, strings.Join(slices.Sorted(maps.Keys(verbs)), ", ")+", or --local FILE")
	}
	return verbs[args[0]](ctx, std, args[1:])
}

// localFiles are the files of --local, which can be repeated and also takes the
// arguments that follow it: --local FILE …
type localFiles []string

func (p *localFiles) String() string { return strings.Join(*p, " ") }

// Set adds a file.
func (p *localFiles) Set(path string) error {
	if path == "" {
		return errors.New("name a file")
	}
	*p = append(*p, path)
	return nil
}

// parseLocal parses the flags and the files of --local.
func parseLocal(fs *flag.FlagSet, local *localFiles, args []string) error {
	fs.Var(local, "local", fmt.Sprintf("file of any client with servers to run; 1 to %d", files.MaxLocal))
	for {
		rest, err := parseSome(fs, args)
		if err != nil {
			return err
		}
		if len(rest) == 0 {
			break
		}
		if len(*local) == 0 {
			return usagef("unexpected argument %q", rest[0])
		}
		*local = append(*local, rest[0])
		args = rest[1:]
	}
	if len(*local) > files.MaxLocal {
		return usagef("--local takes at most %d files", files.MaxLocal)
	}
	return nil
}

// readFiles returns the content of the files. A refused file is an error of the
// configuration, which ends commands with the exit code 2.
func readFiles(list []string, format files.Format) (*files.Set, error) {
	set, err := files.Read(list, format)
	var refusal *trusted.Refusal
	if errors.As(err, &refusal) {
		return nil, errConfig{refusal}
	}
	return set, err
}
