package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"mcpgateway/cmd/bench/measure"
)

// benchMarker is the name of the report's marker lines in a file.
const benchMarker = "bench"

// writeReport measures everything and writes the tables into a file.
func writeReport(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench report", flag.ContinueOnError)
	var o options
	fs.StringVar(&o.gateway, "gateway", "", "gateway `binary`; built if empty")
	into := fs.String("into", "views/docs/performance.md", "`file` with the two marker lines around the report")
	plan, growth := planFlags(fs), scaleFlags(fs)
	if err := parse(fs, stderr, args); err != nil {
		return err
	}
	growth.Duration = plan.Duration / 2
	if err := errors.Join(checkPlan(plan), checkScale(growth)); err != nil {
		fmt.Fprintln(stderr, "bench report:", err)
		return errUsage
	}
	// Check the file first: a measurement takes 20 minutes.
	if err := measure.CheckFile(*into, benchMarker); err != nil {
		return err
	}
	programs, remove, err := o.programs(ctx)
	if err != nil {
		return err
	}
	defer remove()
	// Read the commit first: writing the report makes the tree dirty.
	machine := measure.ThisMachine(ctx, ".")
	sideBySide, err := measure.RunCalls(ctx, programs, *plan, progressPrinter(stderr))
	if err != nil {
		return err
	}
	grown, err := measure.RunScale(ctx, programs, *growth, progressPrinter(stderr))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	o.markdown = true
	if err := o.print(&b, machine, nil, append(sideBySide.Tables(), grown.Tables()...)); err != nil {
		return err
	}
	if err := measure.ReplaceInFile(*into, benchMarker, b.Bytes()); err != nil {
		return err
	}
	_, err = stdout.Write(b.Bytes())
	return err
}
