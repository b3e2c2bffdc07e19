// Command cluster runs a command with a temporary PostgreSQL cluster:
//
//	go run ./models/modelstest/cluster -- go test ./...
//
// The command finds the cluster's address in GATEWAY_TEST_POSTGRES, so that all
// its test processes share one cluster. Signals are forwarded to the command.
// The exit status is the command's.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"mcpgateway/models/modelstest"
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: cluster -- COMMAND [ARGUMENT…]")
		os.Exit(2)
	}
	status, err := run(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
	os.Exit(status)
}

// run returns the exit status of the command: 128 plus the signal number if a
// signal ended it, like shells.
func run(args []string) (status int, err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	cluster, err := modelstest.StartCluster()
	if err != nil {
		return 0, err
	}
	defer func() {
		if e := cluster.Stop(); err == nil && e != nil {
			err = fmt.Errorf("stop PostgreSQL: %w", e)
		}
	}()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), modelstest.AdminVariable+"="+cluster.URL)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			// The command may have ended; done reports that.
			_ = cmd.Process.Signal(s)
		case err := <-done:
			return exitStatus(err)
		}
	}
}

func exitStatus(err error) (int, error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return 0, err
	}
	if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal()), nil
	}
	return exit.ExitCode(), nil
}
