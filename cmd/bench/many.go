package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"mcpgateway/cmd/bench/many"
	"mcpgateway/cmd/bench/measure"
	"mcpgateway/models/modelstest"
)

// manyMarker is the name of the report's marker lines in a file.
const manyMarker = "many"

// measureMany measures a gateway with many rows on PostgreSQL. It starts a cluster
// unless there is one.
func measureMany(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench many", flag.ContinueOnError)
	var o options
	o.add(fs)
	into := fs.String("into", "", "`file` with the two marker lines around the report; only printed if empty")
	p := many.Plan{}
	fs.IntVar(&p.Projects, "projects", 1000, "projects")
	fs.IntVar(&p.Servers, "servers", 5000, "servers in all projects")
	fs.IntVar(&p.Keys, "keys", 20_000, "keys in all projects")
	fs.IntVar(&p.People, "people", 10_000, "people")
	fs.IntVar(&p.Connections, "connections", 100_000, "connections of people to servers")
	fs.IntVar(&p.Calls, "calls", 200_000, "calls in the log")
	fs.IntVar(&p.Times, "times", 3, "number of measurements; the tables show medians")
	fs.DurationVar(&p.Settle, "settle", 3*time.Second, "wait before reading memory")
	if err := parse(fs, stderr, args); err != nil {
		return err
	}
	if err := p.Check(); err != nil {
		fmt.Fprintln(stderr, "bench many:", err)
		return errUsage
	}
	if *into != "" {
		if err := measure.CheckFile(*into, manyMarker); err != nil {
			return err
		}
	}
	programs, remove, err := o.programs(ctx)
	if err != nil {
		return err
	}
	defer remove()
	machine := measure.ThisMachine(ctx, ".")
	cluster, err := modelstest.StartCluster()
	if err != nil {
		return err
	}
	defer func() { _ = cluster.Stop() }() // a temporary cluster, whose files go in any case
	p.Database = cluster.URL
	measured, err := many.Run(ctx, programs, p, progressPrinter(stderr))
	if err != nil {
		return err
	}
	if *into != "" {
		var b bytes.Buffer
		markdown := options{markdown: true}
		if err := markdown.print(&b, machine, nil, measured.Tables()); err != nil {
			return err
		}
		if err := measure.ReplaceInFile(*into, manyMarker, b.Bytes()); err != nil {
			return err
		}
	}
	return o.print(stdout, machine, measured, measured.Tables())
}
