// Package sandbox runs submitted code in child processes without files and
// networks. It has both sides: the pool of children with the messages that they
// exchange with the gateway, and the child with its compiler, its engine and
// what confines it.
package sandbox

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"modernc.org/quickjs"
)

// WorkerCommand is the hidden command with which the gateway's binary runs
// code: `gateway code-worker`.
const WorkerCommand = "code-worker"

//go:embed prelude.js
var prelude string

// IsWorker reports whether the process with these arguments (os.Args) was
// started to run code. A program that starts runs, also a test, must ask
// first and answer with WorkerMain.
func IsWorker(args []string) bool { return len(args) > 1 && args[1] == WorkerCommand }

// WorkerMain is the whole process of a child: it confines itself, runs one
// piece of code that arrives on standard input, reports on standard output
// and returns the exit code. The process ends with its input, whatever the
// code does, so that no child outlives the gateway.
func WorkerMain() int {
	if err := work(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "code-worker:", err)
		return 1
	}
	return 0
}

func work(in io.Reader, out io.Writer) error {
	dropPrivileges()
	runtime.GOMAXPROCS(2)
	debug.SetMaxStack(childStack)
	debug.SetMemoryLimit(memoryHeadroom / 2)
	time.Local = time.UTC // a child has no settings, not even a time zone
	engine, err := newEngine(out)
	if err != nil {
		return err
	}
	// The first compilation sets up tables; no run should wait for that.
	if _, m := compile("export default async () => 1"); m != nil {
		return fmt.Errorf("the compiler does not work: %v", m)
	}
	if _, m := compile("await 1; `${1}`"); m != nil {
		return fmt.Errorf("the compiler does not work: %v", m)
	}
	engine.memory = newMemoryMeter()
	confined, err := confine()
	if err != nil {
		return fmt.Errorf("the process cannot be confined: %w", err)
	}
	if err := engine.send(frameReady, readyMessage{CPUMillis: usedByProcess().Milliseconds(), Confined: confined}); err != nil {
		return err
	}
	frames := bufio.NewReaderSize(in, 64<<10)
	start, err := readStart(frames)
	if err != nil || start == nil {
		return err // nobody needed this child
	}
	engine.waiting = engine.memory.peak()
	go engine.read(frames)
	return engine.run(start)
}

// newEngine returns an engine with the prelude in place.
func newEngine(out io.Writer) (*engine, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	vm.SetMemoryLimit(MaxMemory)
	vm.SetCanBlock(false)
	e := &engine{vm: vm, out: out, answers: make(chan answer), timers: map[int]time.Time{}}
	if err := vm.RegisterHostFunc("host", e.host); err != nil {
		return nil, err
	}
	made, err := vm.EvalValue("("+trimExpression(prelude)+")(host)", quickjs.EvalGlobal)
	if err != nil {
		return nil, fmt.Errorf("the prelude does not run: %w", err)
	}
	for name, into := range map[string]*quickjs.Value{"prepare": &e.prepare, "begin": &e.begin, "settle": &e.settle, "fire": &e.fire, "advance": &e.advance} {
		atom, err := vm.NewAtom(name)
		if err != nil {
			return nil, err
		}
		if *into, err = made.GetPropertyValue(atom); err != nil {
			return nil, err
		}
	}
	if _, err := vm.Eval("delete globalThis.host", quickjs.EvalGlobal); err != nil {
		return nil, err
	}
	return e, nil
}
