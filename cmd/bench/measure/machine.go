package measure

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
)

// Machine describes the machine and the measured commit.
type Machine struct {
	Cores  int    `json:"cores"`
	CPU    string `json:"cpu"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Commit string `json:"commit"` // with the suffix "-dirty" if files differ from it
}

// ThisMachine describes this machine and the repository at root. Unknown facts
// are empty.
func ThisMachine(ctx context.Context, root string) Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version()}
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`).FindSubmatch(raw); found != nil {
			m.CPU = strings.Join(strings.Fields(string(found[1])), " ")
		}
	}
	if raw, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = string(bytes.TrimSpace(raw))
	}
	git := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
	git.Dir = root
	if out, err := git.Output(); err == nil {
		m.Commit = strings.TrimSpace(string(out))
	}
	return m
}

// String returns the description as one line.
func (m Machine) String() string {
	parts := []string{fmt.Sprintf("%d cores", m.Cores)}
	for _, part := range []string{m.CPU, m.Kernel, m.Go} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if m.Commit != "" {
		parts = append(parts, "commit "+m.Commit)
	}
	return strings.Join(parts, ", ")
}
