//go:build !linux

package sandbox

import (
	"os"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func killGroup(p *os.Process) { _ = p.Kill() }

func killed(state *os.ProcessState) bool { return !state.Exited() }

func limitCompiler(int) {}
