//go:build !race

package codemode_test

const raceEnabled = false

// buildWorker returns the command of the children, here this binary, and a
// cleanup function.
func buildWorker() (command []string, remove func(), err error) {
	return nil, func() {}, nil
}
