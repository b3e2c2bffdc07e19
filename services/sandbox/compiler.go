package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"
)

// RunCompiler runs the TypeScript compiler at a path in a folder and returns
// the beginning of what it printed. Its exit code says that there are
// complaints, which is no failure. It ends with the context.
func RunCompiler(ctx context.Context, path, dir string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, path, arguments...)
	command.Dir = dir
	command.Env = []string{"GOMEMLIMIT=512MiB", "GOMAXPROCS=2"}
	tame(command)
	printed := &bounded{}
	command.Stdout, command.Stderr = printed, printed
	if err := command.Start(); err != nil {
		return "", err
	}
	limitCompiler(command.Process.Pid)
	err := command.Wait()
	if ctx.Err() != nil {
		return "", fmt.Errorf("the compiler did not end in time: %w", ctx.Err())
	}
	if err != nil && !bytes.Contains(printed.Bytes(), []byte("error TS")) {
		return "", fmt.Errorf("%w: %s", err, ClipText(printed.String(), 300))
	}
	return printed.String(), nil
}

// tame lets a command end with this process, and together with everything that
// it started.
func tame(command *exec.Cmd) {
	command.SysProcAttr = childAttributes()
	command.Cancel = func() error { killGroup(command.Process); return nil }
	command.WaitDelay = time.Second
}

// bounded keeps the beginning of what is written to it.
type bounded struct{ bytes.Buffer }

// Write keeps what fits and takes the rest.
func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, MaxResult-b.Len()))])
	return len(p), nil
}
