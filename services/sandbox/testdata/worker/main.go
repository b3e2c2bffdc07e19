// Command worker is the child process of runs alone, as a program of its own.
// Under the race detector the engine is ten times slower and larger, so that no
// limit of time or memory could be tested: the tests then start this instead.
package main

import (
	"os"

	"mcpgateway/services/sandbox"
)

func main() { os.Exit(sandbox.WorkerMain()) }
