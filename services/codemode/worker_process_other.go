//go:build !linux

package codemode

import (
	"os"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func killGroup(p *os.Process) { _ = p.Kill() }

func killed(state *os.ProcessState) bool { return !state.Exited() }

func peakMemory(*os.ProcessState) int64 { return 0 }

func limitCompiler(int) {}
