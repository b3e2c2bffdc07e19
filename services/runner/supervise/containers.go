//go:build linux || darwin

package supervise

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/process"
)

// Labels of the containers that programs run: the ID of the runner, and the
// marker of the process.
const (
	LabelRunner  = "gateway.runner"
	LabelProcess = "gateway.process"
)

// containerTime is the maximum time for removing containers.
const containerTime = 10 * time.Second

// containerRun returns the index of the argument run if the program is a client
// of containers that runs one, else -1.
func containerRun(program string, args []string) int {
	if name := filepath.Base(program); name != "docker" && name != "podman" {
		return -1
	}
	for i, arg := range args {
		switch {
		case arg == "run":
			return i
		case arg == "container", arg == "compose", strings.HasPrefix(arg, "-"):
		case i > 0 && strings.HasPrefix(args[i-1], "-"): // the value of an option
		default:
			return -1
		}
	}
	return -1
}

// withLabels returns the arguments of a program. The containers of one that runs
// them get labels.
func withLabels(program *entry.Program, runner, marker string) []string {
	at := containerRun(program.Program, program.Args)
	if at < 0 {
		return program.Args
	}
	return slices.Insert(slices.Clone(program.Args), at+1, "--label", LabelRunner+"="+runner, "--label", LabelProcess+"="+marker)
}

// removeContainers removes the containers of a process, which outlive the client
// that ran them.
func (p *Process) removeContainers() {
	at := containerRun(p.spec.Program.Program, p.spec.Args)
	if at < 0 {
		return
	}
	global := slices.DeleteFunc(slices.Clone(p.spec.Args[:at]), func(arg string) bool { return arg == "container" || arg == "compose" })
	ctx, cancel := context.WithTimeout(context.Background(), containerTime)
	defer cancel()
	found := strings.Fields(p.runClient(ctx, global, "ps", "--all", "--quiet", "--filter", "label="+LabelProcess+"="+p.spec.Marker))
	if len(found) > 0 {
		p.runClient(ctx, global, append([]string{"rm", "--force"}, found...)...)
	}
}

// maxList is the maximum size of a list of containers in bytes.
const maxList = 64 << 10

// runClient runs the client of containers with other arguments, and returns its
// output.
func (p *Process) runClient(ctx context.Context, global []string, args ...string) string {
	program := *p.spec.Program
	program.Args = append(slices.Clone(global), args...)
	marker := p.run.program.o.Limits.marker(p.run.program.o.Runner)
	child, err := p.run.program.o.Start(process.Spec{Program: &program, Memory: p.spec.Memory, Files: p.spec.Files, Marker: marker})
	if err != nil {
		p.run.program.o.Log.Warn("containers of a program were not removed", "program", p.run.program.name, "error", err)
		return ""
	}
	output := make(chan string, 1)
	p.run.program.o.Tasks.Go("container client", func() {
		raw, _ := io.ReadAll(io.LimitReader(child.Stdout(), maxList)) // the part before an error
		output <- string(raw)
	})
	p.run.program.o.Tasks.Go("container client log", func() { readLog(child.Stderr(), p.logError) })
	var text string
	select {
	case text = <-output:
	case <-ctx.Done():
		p.run.program.o.Log.Warn("containers of a program were not removed in time", "program", p.run.program.name)
	}
	select {
	case <-child.Done():
	case <-ctx.Done():
	}
	child.Stop(ctx)
	return text
}
