// Package leaktest fails tests that leave goroutines.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// limit is the time that goroutines have to end. It is long for goroutines that
// still compute, for example with a large result under the race detector.
const limit = time.Minute

// pause is the time between two checks, each of which retries for 0.4 s.
const pause = 100 * time.Millisecond

// remaining contains goroutines of libraries that end late or never.
var remaining = []goleak.Option{
	// A server's cleaner checks every 10 s whether its server has ended.
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	// The clock of all servers never ends.
	goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
}

// Main runs the tests of a package and exits. It exits with 1 if goroutines remain.
func Main(m *testing.M, ignored ...goleak.Option) { os.Exit(Run(m, ignored...)) }

// Run is like Main, but returns the exit code.
func Run(m *testing.M, ignored ...goleak.Option) int {
	code := m.Run()
	if code != 0 {
		return code
	}
	if err := find(limit, ignored); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Verify fails the test if goroutines remain.
func Verify(t *testing.T, ignored ...goleak.Option) {
	t.Helper()
	if err := find(limit, ignored); err != nil {
		t.Error(err)
	}
}

// find returns an error with the stacks of goroutines that remain after the limit.
func find(limit time.Duration, ignored []goleak.Option) error {
	options := append(remaining[:len(remaining):len(remaining)], ignored...)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); ; <-tick.C {
		if err := goleak.Find(options...); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
