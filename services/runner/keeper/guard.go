//go:build linux || darwin

package keeper

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"mcpgateway/services/background"
	"mcpgateway/services/runner/process"
)

// Process names of a runner's processes.
const (
	guardName  = "gw-guard"
	RunnerName = "gw-runner"
)

// Lifeline is the descriptor whose end means that the keeper has ended.
const Lifeline = 3

// Guard starts a runner with the standard input and the descriptor 3 of this
// process, and waits. When the runner or the other end of the descriptor ends, it
// ends everything that the runner started. command calls the runner: a path and
// its arguments. At the end, Guard calls clean and returns the exit code for this
// process.
func Guard(runner string, command []string, clean func(), tasks *background.Tasks) (int, error) {
	// The kernel ends the runner with the thread that started it.
	runtime.LockOSThread()
	SetName(guardName)
	if err := process.Adopt(); err != nil {
		return 0, err
	}
	if err := process.Hide(); err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	line := os.NewFile(Lifeline, "keeper")
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	cmd.Args[0] = RunnerName
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	cmd.ExtraFiles = []*os.File{line}
	cmd.SysProcAttr = runnerAttributes()
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the runner: %w", err)
	}
	ended, hungUp := make(chan struct{}), make(chan struct{})
	tasks.Go("wait for the runner", func() {
		defer close(ended)
		_ = cmd.Wait() // the state has its exit status
	})
	tasks.Go("wait for the keeper", func() {
		defer close(hungUp)
		WaitForHangUp()
	})
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s)
			continue
		case <-ended:
		case <-hungUp:
		}
		break
	}
	process.End(func(marker string) bool { return Owns(runner, marker) })
	<-ended
	clean()
	return max(cmd.ProcessState.ExitCode(), 0), nil
}

// Owns reports whether a program's marker is of a runner.
func Owns(runner, marker string) bool {
	return marker == runner || strings.HasPrefix(marker, runner+".")
}

// WaitForHangUp returns when the other end of the lifeline is closed.
func WaitForHangUp() {
	for {
		polled := []unix.PollFd{{Fd: Lifeline}} // reports only hang-ups and errors
		n, err := unix.Poll(polled, -1)
		if err != nil && err != unix.EINTR || n > 0 {
			return
		}
	}
}
