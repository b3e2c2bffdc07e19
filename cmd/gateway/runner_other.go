//go:build !linux && !darwin

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"

	"mcpgateway/services"
)

// errNoRunner is the error where programs can't be ended reliably.
var errNoRunner = errConfig{errors.New("programs of local servers can't be run on " + runtime.GOOS + ": use Linux or macOS")}

func runnerCheck(context.Context, streams, []string) error   { return errNoRunner }
func runnerRun(context.Context, streams, []string) error     { return errNoRunner }
func runnerStatus(context.Context, streams, []string) error  { return errNoRunner }
func runnerLogs(context.Context, streams, []string) error    { return errNoRunner }
func runnerRestart(context.Context, streams, []string) error { return errNoRunner }
func runnerStop(context.Context, streams, []string) error    { return errNoRunner }
func runnerReload(context.Context, streams, []string) error  { return errNoRunner }
func runnerGuard(context.Context, streams, []string) error   { return errNoRunner }
func runnerServe(context.Context, streams, []string) error   { return errNoRunner }
func runnerLaunch(context.Context, streams, []string) error  { return errNoRunner }

func keepRunner(context.Context, streams, *services.Services, *servedFiles, io.Writer, *slog.Logger, func(net.Conn)) (stop func(), err error) {
	return nil, errNoRunner
}
