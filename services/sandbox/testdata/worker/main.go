// Command worker is a separate program for the child process of runs. Under the
// race detector the engine is ten times slower and larger, so limits of time
// and memory can't be tested. The tests then start this program instead.
package main

import (
	"os"

	"mcpgateway/services/sandbox"
)

func main() { os.Exit(sandbox.WorkerMain()) }
