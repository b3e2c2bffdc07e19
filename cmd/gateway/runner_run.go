//go:build linux || darwin

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"mcpgateway/services/background"
	"mcpgateway/services/config"
	"mcpgateway/services/runner"
	"mcpgateway/services/runner/access"
	"mcpgateway/services/runner/dial"
	"mcpgateway/services/runner/files"
	"mcpgateway/services/runner/keeper"
	"mcpgateway/services/runner/process"
	"mcpgateway/services/runners/wire"
	"mcpgateway/services/secrets"
)

// maxProcesses is the maximum of --max-processes.
const maxProcesses = 500

// runnerRun runs the programs of files until it is stopped.
func runnerRun(ctx context.Context, std streams, args []string) error {
	c, err := runnerConfig(std, args)
	if err != nil {
		return err
	}
	settings, err := config.Logging(std.environ)
	if err != nil {
		return errConfig{err}
	}
	log := newLog(std.err, isTerminal(std.err), settings)
	k, err := startKeeper(ctx, std, keeper.Options{Config: c, Stderr: std.err, Log: log, Tasks: background.New(log)}, settings, nil)
	if err != nil {
		return err
	}
	<-ctx.Done()
	k.Stop()
	return nil
}

// runnerConfig parses and checks the arguments of a runner.
func runnerConfig(std streams, args []string) (keeper.Config, error) {
	fs := flags(std, "runner")
	var local localFiles
	var connect keeper.Connect
	c := keeper.Config{Format: files.Local}
	fs.StringVar(&connect.URL, "connect", "", "URL of the gateway that uses this runner")
	fs.StringVar(&connect.Prefix, "prefix", "", "start of the aliases of new servers there")
	fs.BoolVar(&connect.AllowHTTP, "allow-http", false, "connect over http also to another computer")
	fs.StringVar(&c.Listen, "listen", "", "serve programs of this computer at 127.0.0.1:PORT or unix:PATH, with HTTP/2")
	tokenFile := fs.String("token-file", "", "file with the token; default: the variable GATEWAY_RUNNER_TOKEN")
	fs.StringVar(&c.State, "state", "", "directory of the runner; default: runner next to the SQLite file, or ~/.local/state/gateway-runner")
	fs.IntVar(&c.MaxProcesses, "max-processes", wire.MaxProcesses, fmt.Sprintf("maximum number of processes of all programs, 1 to %d", maxProcesses))
	fs.BoolVar(&c.Watch, "watch", false, "take changed commands of the files at once, without a reload")
	if err := parseLocal(fs, &local, args); err != nil {
		return c, err
	}
	c.Paths = local
	if connect != (keeper.Connect{}) {
		c.Connect = &connect
	}
	var err error
	if c.Token, err = runnerToken(std, *tokenFile); err == nil {
		err = checkRunner(c)
	}
	if err != nil {
		return c, err
	}
	if _, err := readFiles(local, files.Local); err != nil {
		return c, err
	}
	c.State, err = runnerState(std, c.State)
	return c, err
}

// checkRunner returns an error for arguments that can't be used.
func checkRunner(c keeper.Config) error {
	switch {
	case len(c.Paths) == 0:
		return usagef("--local FILE is required")
	case c.MaxProcesses < 1 || c.MaxProcesses > maxProcesses:
		return usagef("--max-processes takes a number from 1 to %d", maxProcesses)
	case c.Connect != nil && c.Listen != "":
		return usagef("use either --connect or --listen")
	case c.Connect != nil:
		if _, err := dialer(c, nil); err != nil {
			return usagef("%v", err)
		}
		return nil
	case c.Listen == "":
		return usagef("--connect or --listen is required")
	case len(c.Token) < access.MinToken:
		return usagef("the token of --listen has fewer than %d characters", access.MinToken)
	}
	if _, err := access.ParseAddress(c.Listen); err != nil {
		return usagef("%v", err)
	}
	return nil
}

// dialer returns the connections to the gateway of a runner.
func dialer(c keeper.Config, log *slog.Logger) (*dial.Dialer, error) {
	return dial.New(dial.Options{
		URL: c.Connect.URL, Prefix: c.Connect.Prefix, AllowHTTP: c.Connect.AllowHTTP, Token: secrets.NewValue(c.Token),
		Log: log, Tasks: background.New(log),
	})
}

// runnerToken returns the token in a file, or that of the environment.
func runnerToken(std streams, file string) (string, error) {
	if file == "" {
		for _, variable := range std.environ {
			if token, ok := strings.CutPrefix(variable, "GATEWAY_RUNNER_TOKEN="); ok && token != "" {
				return token, nil
			}
		}
		return "", usagef("--token-file F or the variable GATEWAY_RUNNER_TOKEN is required")
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", errConfig{err}
	}
	return strings.TrimSpace(string(raw)), nil
}

// runnerState returns the state directory: the given one, else `runner` next to the
// SQLite file if there is one, else one of the user.
func runnerState(std streams, given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	if file := config.DatabaseFile(std.environ); file != "" {
		if _, err := os.Stat(file); err == nil {
			return filepath.Abs(filepath.Join(filepath.Dir(file), "runner"))
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errConfig{fmt.Errorf("name a directory with --state: %w", err)}
	}
	return filepath.Join(home, ".local", "state", "gateway-runner"), nil
}

// startKeeper returns the started keeper of a runner of this binary, which SIGHUP reloads. ctx
// does not end it; the caller must call Stop.
func startKeeper(ctx context.Context, std streams, o keeper.Options, settings *config.Config, attach func(net.Conn)) (*keeper.Keeper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o.Guard, o.Environ, o.Version = []string{self, "runner-guard"}, std.environ, version
	o.LogLevel, o.LogJSON = settings.LogLevel, logsJSON(isTerminal(std.err), settings)
	reloads := make(chan os.Signal, 1)
	signal.Notify(reloads, syscall.SIGHUP)
	k, err := keeper.Start(context.WithoutCancel(ctx), o, attach)
	if err != nil {
		signal.Stop(reloads)
		return nil, err
	}
	o.Tasks.Go("reload of the runner", func() {
		defer signal.Stop(reloads)
		for {
			select {
			case <-reloads:
				k.Reload()
			case <-k.Done():
				return
			}
		}
	})
	return k, nil
}

// runnerGuard is the hidden command of the guard.
func runnerGuard(ctx context.Context, std streams, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if len(args) != 2 {
		return usagef("this command is for the gateway")
	}
	id, state := args[0], args[1]
	code, err := keeper.Guard(id, []string{self, "runner-serve"}, func() {
		if err := runner.RemoveContainers(context.WithoutCancel(ctx), state, id, std.environ); err != nil {
			fmt.Fprintln(std.err, "gateway: containers of local servers not removed:", oneLine(err.Error()))
		}
	}, nil)
	if err == nil && code != 0 {
		err = errLogged // by the runner
	}
	return err
}

// runnerServe is the hidden command of the runner.
func runnerServe(ctx context.Context, std streams, args []string) error {
	var c keeper.Config
	raw, err := io.ReadAll(std.in)
	if err != nil || len(args) > 0 || json.Unmarshal(raw, &c) != nil {
		return usagef("this command is for the gateway")
	}
	log := newLog(std.err, false, &config.Config{LogLevel: c.LogLevel, LogJSON: &c.LogJSON}).With("process", "runner")
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o := runner.Options{Config: c, Launcher: []string{self, "runner-launch"}, Environ: std.environ, Log: log, Tasks: background.New(log)}
	if c.Connect != nil {
		if o.Dialer, err = dialer(c, log); err != nil {
			return err
		}
	}
	if err := runner.Serve(context.WithoutCancel(ctx), o); err != nil {
		log.Error("runner ended", "error", err)
		return errLogged
	}
	return nil
}

// runnerLaunch is the hidden command that becomes a program.
func runnerLaunch(_ context.Context, _ streams, args []string) error { return process.Launch(args) }
