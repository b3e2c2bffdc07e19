package keeper

import "syscall"

// SetName does nothing: the name of a process is that of its file.
func SetName(string) {}

// runnerAttributes are the defaults: the runner sees the end of descriptor 3.
func runnerAttributes() *syscall.SysProcAttr { return nil }
