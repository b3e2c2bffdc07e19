package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"mcpgateway/cmd/bench/measure"
)

// scaleFlags adds the flags of the scaling measurements.
func scaleFlags(fs *flag.FlagSet) *measure.ScalePlan {
	p := &measure.ScalePlan{}
	fs.IntVar(&p.Starts, "starts", 5, "number of measured starts; 0, here and below, skips the measurement")
	fs.IntVar(&p.Servers, "servers", 200, "servers in one project")
	fs.IntVar(&p.ToolsPerServer, "server-tools", 50, "tools per server")
	fs.IntVar(&p.Streams, "streams", 2000, "sessions, each with an event stream")
	fs.IntVar(&p.Tools, "tools", 5000, "tools of one server")
	fs.IntVar(&p.Rows, "rows", 100_000, "rows of the catalog")
	fs.IntVar(&p.Times, "times", 3, "number of measurements per size; the tables show medians")
	fs.DurationVar(&p.Settle, "settle", 3*time.Second, "wait before reading memory")
	return p
}

func checkScale(p *measure.ScalePlan) error {
	if p.Times < 1 || p.Starts < 0 || p.Servers < 0 || p.ToolsPerServer < 1 || p.Streams < 0 || p.Tools < 0 || p.Rows < 0 || p.Settle < 0 {
		return errors.New("numbers must not be negative, and -server-tools and -times must be at least 1")
	}
	return nil
}

// measureScale measures startup, and how memory and latency scale.
func measureScale(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench scale", flag.ContinueOnError)
	var o options
	o.add(fs)
	plan := scaleFlags(fs)
	fs.DurationVar(&plan.Duration, "d", time.Second, "duration of one run")
	if err := parse(fs, stderr, args); err != nil {
		return err
	}
	if err := checkScale(plan); err != nil || plan.Duration <= 0 {
		fmt.Fprintln(stderr, "bench scale:", errors.Join(err, positive(plan.Duration)))
		return errUsage
	}
	programs, remove, err := o.programs(ctx)
	if err != nil {
		return err
	}
	defer remove()
	measured, err := measure.RunScale(ctx, programs, *plan, progressPrinter(stderr))
	if err != nil {
		return err
	}
	return o.print(stdout, measure.ThisMachine(ctx, "."), measured, measured.Tables())
}

func positive(d time.Duration) error {
	if d <= 0 {
		return errors.New("-d must be positive")
	}
	return nil
}
