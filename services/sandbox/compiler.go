package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"
)

// RunCompiler runs the TypeScript compiler at path in the folder dir and
// returns the beginning of its output. An exit code that reports diagnostics is
// not an error. The context ends the compiler.
func RunCompiler(ctx context.Context, path, dir string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, path, arguments...)
	command.Dir = dir
	command.Env = []string{"GOMEMLIMIT=512MiB", "GOMAXPROCS=2"}
	tame(command)
	printed := &limitedBuffer{}
	command.Stdout, command.Stderr = printed, printed
	if err := command.Start(); err != nil {
		return "", err
	}
	limitCompiler(command.Process.Pid)
	err := command.Wait()
	if ctx.Err() != nil {
		return "", fmt.Errorf("type check timed out: %w", ctx.Err())
	}
	if err != nil && !bytes.Contains(printed.Bytes(), []byte("error TS")) {
		return "", fmt.Errorf("%w: %s", err, ClipText(printed.String(), 300))
	}
	return printed.String(), nil
}

// tame ensures that a command ends with this process, together with everything
// that it started.
func tame(command *exec.Cmd) {
	command.SysProcAttr = childAttributes()
	command.Cancel = func() error { killGroup(command.Process); return nil }
	command.WaitDelay = time.Second
}

// limitedBuffer stores the beginning of the written bytes.
type limitedBuffer struct{ bytes.Buffer }

// Write implements io.Writer. It discards what exceeds the limit.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, MaxResult-b.Len()))])
	return len(p), nil
}
