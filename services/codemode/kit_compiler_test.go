package codemode_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

var typeErrorLine = regexp.MustCompile(`^(.*)\((\d+),\d+\): error (.*)$`)

// typeError is one complaint of the compiler.
type typeError struct {
	file string
	line int
	text string
}

// compileTimeout bounds one run of the compiler.
const compileTimeout = time.Minute

// compileTypes returns what the compiler finds wrong in the files of a folder
// under its strictest rules, with the libraries of the language alone unless
// others are named.
func compileTypes(t testing.TB, dir string, files ...string) []typeError {
	t.Helper()
	return compileTypesWith(t, dir, "es2023", files...)
}

func compileTypesWith(t testing.TB, dir, lib string, files ...string) []typeError {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), compileTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, compiler(t), append([]string{"--strict", "--noEmit", "--pretty", "false", "--ignoreConfig", "--target", "es2022", "--module", "esnext", "--lib", lib, "--types", ""}, files...)...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOMEMLIMIT=1GiB")
	command.WaitDelay = time.Second
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the compiler did not end within %s", compileTimeout)
	}
	if err == nil {
		return nil
	}
	var errors []typeError
	for line := range strings.SplitSeq(string(out), "\n") {
		m := typeErrorLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		errors = append(errors, typeError{m[1], n, m[3]})
	}
	if len(errors) == 0 {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	return errors
}

func writeTestFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// compiler returns the path of the native TypeScript compiler of the node
// modules, which the tests of this repository install.
func compiler(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", "..", "node_modules", "@typescript", "typescript-"+runtime.GOOS+"-*", "lib", "tsc"))
	if err != nil || len(found) == 0 {
		t.Fatalf("there is no TypeScript compiler in node_modules: run `npm ci` (%v)", err)
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}
