package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"mcpgateway/cmd/conformance/suite"
)

// errBelow is returned when something is below its expectation, which the
// table tells.
var errBelow = errors.New("not everything is as expected")

// runSuites runs the official suites through a gateway.
func runSuites(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("conformance run", flag.ContinueOnError)
	gateway := gatewayFlag(fs)
	only := fs.String("only", "", "run the sets whose name matches this `expression`")
	every := fs.Bool("scenarios", false, "show every scenario, not only those that failed")
	keep := fs.String("keep", "", "keep what the suites store in this `folder`")
	if err := parse(fs, stderr, args, 0); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	driver, err := os.Executable()
	if err != nil {
		return err
	}
	folder, remove, err := workFolder(*keep)
	if err != nil {
		return err
	}
	defer remove()
	started := time.Now()
	results, err := suite.Run(ctx, suite.Options{
		Root: root, Gateway: *gateway, Folder: folder, Driver: driver, Sets: suite.Sets(), Wanted: wanted.MatchString,
		Done: func(r suite.Result) {
			fmt.Fprintf(stdout, "%s (after %v)\n", r.Set.Name, time.Since(started).Round(100*time.Millisecond))
			suite.WriteDetails(stdout, r, *every)
		},
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout)
	if err := suite.WriteTable(stdout, results); err != nil {
		return err
	}
	for i := range results {
		if !results[i].Met() {
			return errBelow
		}
	}
	return nil
}

// gatewayFlag adds the flag that names an existing binary. Its value is an
// absolute path, because programs are started in folders of their own.
func gatewayFlag(fs *flag.FlagSet) *string {
	path := new(string)
	fs.Func("gateway", "`binary` of the gateway; it is built when there is none", func(s string) (err error) {
		*path, err = filepath.Abs(s)
		return err
	})
	return path
}

// moduleRoot returns the folder above that holds go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("run this within the repository: no go.mod was found")
		}
		dir = parent
	}
}

// workFolder returns an empty folder for a run: a new one in keep, or one that
// remove removes.
func workFolder(keep string) (folder string, remove func(), err error) {
	if keep != "" {
		if keep, err = filepath.Abs(keep); err != nil {
			return "", nil, err
		}
		if err = os.MkdirAll(keep, 0o700); err != nil {
			return "", nil, err
		}
	}
	folder, err = os.MkdirTemp(keep, "conformance-")
	remove = func() {
		if keep == "" {
			_ = os.RemoveAll(folder)
		}
	}
	return folder, remove, err
}
