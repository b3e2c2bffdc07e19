// Package sandbox runs submitted code in child processes without access to
// files and networks. It contains both sides: the pool of children and its
// protocol, and the child with its compiler, engine and confinement.
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

// WorkerCommand is the hidden command of the gateway's binary that runs code:
// `gateway code-worker`.
const WorkerCommand = "code-worker"

//go:embed prelude.js
var prelude string

// IsWorker reports whether the process with these arguments (os.Args) was
// started to run code. A program that runs code, including a test, must call it
// first and then call WorkerMain.
func IsWorker(args []string) bool { return len(args) > 1 && args[1] == WorkerCommand }

// WorkerMain is the main function of a child. It confines the process, runs one
// piece of code from standard input, reports on standard output and returns the
// exit code. The process always exits when its input ends, so that no child
// outlives the gateway.
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
	debug.SetGCPercent(childGCPercent)
	time.Local = time.UTC // a child has no settings, including a time zone
	engine, err := newEngine(out)
	if err != nil {
		return err
	}
	// The first compilation builds tables. Do it before a run waits for it.
	if _, m := compile("export default async () => 1"); m != nil {
		return fmt.Errorf("compiler self-test failed: %v", m)
	}
	if _, m := compile("await 1; `${1}`"); m != nil {
		return fmt.Errorf("compiler self-test failed: %v", m)
	}
	engine.memory = newMemoryMeter()
	engine.waiting = engine.memory.peak()
	confined, err := confine()
	if err != nil {
		return fmt.Errorf("confine worker: %w", err)
	}
	if err := engine.send(frameReady, readyMessage{CPUMillis: usedByProcess().Milliseconds(), Confined: confined}); err != nil {
		return err
	}
	frames := bufio.NewReaderSize(in, 64<<10)
	start, err := readStart(frames)
	if err != nil || start == nil {
		return err // this child was not needed
	}
	go engine.read(frames)
	return engine.run(start)
}

// newEngine returns an engine with the prelude loaded.
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
		return nil, fmt.Errorf("load prelude: %w", err)
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
