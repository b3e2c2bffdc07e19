package main

import (
	"context"
	"flag"
	"io"
	"os"

	"mcpgateway/cmd/conformance/driver"
)

// runClient visits the server whose URL a suite gives as the last argument.
// What else it gives is in the environment.
func runClient(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("conformance client", flag.ContinueOnError)
	if err := parse(fs, stderr, args, 1); err != nil {
		return err
	}
	job := driver.Job{URL: fs.Arg(0), Scenario: os.Getenv("MCP_CONFORMANCE_SCENARIO")}
	if given := os.Getenv("MCP_CONFORMANCE_CONTEXT"); given != "" {
		job.Context = []byte(given)
	}
	return driver.Run(ctx, job, stdout)
}
