package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"mcpgateway/cmd/bench/measure"
)

// measureCalls compares the gateway with the floor and a direct call.
func measureCalls(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench calls", flag.ContinueOnError)
	var o options
	o.add(fs)
	plan := planFlags(fs)
	if err := parse(fs, stderr, args); err != nil {
		return err
	}
	if err := checkPlan(plan); err != nil {
		fmt.Fprintln(stderr, "bench calls:", err)
		return errUsage
	}
	programs, remove, err := o.programs(ctx)
	if err != nil {
		return err
	}
	defer remove()
	measured, err := measure.RunCalls(ctx, programs, *plan, progressPrinter(stderr))
	if err != nil {
		return err
	}
	return o.print(stdout, measure.ThisMachine(ctx, "."), measured, measured.Tables())
}

// progressPrinter returns a function that prints the progress of a measurement to w.
func progressPrinter(w io.Writer) func(string) {
	return func(step string) { fmt.Fprintln(w, "measuring:", step) }
}
