package programtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// childArgument is the first argument of a child of the program. The second one
// is its kind.
const childArgument = "-stdio-child"

// childLife is the maximum life of a child.
const childLife = 10 * time.Minute

// The kinds of children. All ignore SIGTERM, SIGINT and SIGHUP and keep standard
// output open.
const (
	forkPlain   = "plain"   // in the process group of the program
	forkGroup   = "group"   // in its own process group
	forkSession = "session" // in its own session
	forkOrphan  = "orphan"  // in its own session; its parent ends at once
	forkClean   = "clean"   // an orphan with an empty environment
)

func forkModes() []string {
	return []string{forkPlain, forkGroup, forkSession, forkOrphan, forkClean}
}

// fork starts the children. It writes a line with the process id of each.
func (p *Program) fork(trouble io.Writer) error {
	for _, mode := range p.children() {
		if err := startChild(mode, mode, os.Stdout, trouble); err != nil {
			return err
		}
	}
	return nil
}

// startChild starts a child of this process. mode selects its group and
// environment, argument what it does.
func startChild(mode, argument string, out, trouble io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command(self, childArgument, argument) //nolint:noctx // outlives everything by design
	c.Stdout, c.Stderr, c.SysProcAttr = out, os.Stderr, attributes(mode)
	if mode == forkClean {
		c.Env = []string{}
	}
	if err := c.Start(); err != nil {
		return err
	}
	if argument == forkOrphan || argument == forkClean {
		return c.Wait() // it writes the line of the child that it leaves behind
	}
	_, err = fmt.Fprintf(trouble, "mockmcp: child %s %d\n", mode, c.Process.Pid)
	return err
}

// IsChild reports whether the arguments are those of a child of the program.
func IsChild(args []string) bool { return len(args) == 2 && args[0] == childArgument }

// RunChild does what a child does: it waits. args are those that IsChild accepts.
func RunChild(args []string) error {
	if mode := args[1]; mode == forkOrphan || mode == forkClean {
		return startChild(mode, "left", os.Stdout, os.Stderr)
	}
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	time.Sleep(childLife)
	return nil
}
