package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"

	"mcpgateway/cmd/conformance/matrix"
)

// runMatrix runs every client revision against every upstream revision through
// a gateway.
func runMatrix(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("conformance matrix", flag.ContinueOnError)
	gateway := gatewayFlag(fs)
	keep := fs.String("keep", "", "keep the gateway's database in this `folder`")
	if err := parse(fs, stderr, args, 0); err != nil {
		return err
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	folder, remove, err := workFolder(*keep)
	if err != nil {
		return err
	}
	defer remove()
	cells, err := matrix.Run(ctx, matrix.Options{Root: root, Gateway: *gateway, Folder: folder})
	if err != nil {
		return err
	}
	if err := matrix.Write(stdout, cells); err != nil {
		return err
	}
	if n := len(slices.DeleteFunc(cells, func(c matrix.Cell) bool { return c.State != matrix.Fails })); n > 0 {
		return fmt.Errorf("%d cells: %w", n, errBelow)
	}
	return nil
}
