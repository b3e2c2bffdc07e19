package main

import (
	"context"
	"fmt"
	"runtime"
)

func printVersion(_ context.Context, std streams, args []string) error {
	if len(args) > 0 {
		return usagef("version takes no arguments")
	}
	_, err := fmt.Fprintf(std.out, "gateway %s %s/%s %s\n", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
	return err
}
