//go:build !race

package codemode_test

const raceEnabled = false

// buildWorker returns the command of the children, which is this binary, and
// what to do when the tests have ended.
func buildWorker() (command []string, remove func(), err error) {
	return nil, func() {}, nil
}
