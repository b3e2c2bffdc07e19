// Package typescripttest contains helpers for tests of declarations: the native
// compiler, tools with schemas, and the processor time of the test.
package typescripttest

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

// TypeError is one compiler diagnostic.
type TypeError struct {
	File string
	Line int
	Text string
}

// compileTimeout limits one run of the compiler.
const compileTimeout = time.Minute

// CompileTypes returns the compiler's diagnostics for the files of a folder
// under its strictest rules, with only the libraries of the language.
func CompileTypes(t testing.TB, dir string, files ...string) []TypeError {
	t.Helper()
	return CompileTypesWith(t, dir, "es2023", files...)
}

// CompileTypesWith is CompileTypes with other libraries.
func CompileTypesWith(t testing.TB, dir, lib string, files ...string) []TypeError {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), compileTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, Compiler(t), append([]string{"--strict", "--noEmit", "--pretty", "false", "--ignoreConfig", "--target", "es2022", "--module", "esnext", "--lib", lib, "--types", ""}, files...)...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOMEMLIMIT=1GiB")
	command.WaitDelay = time.Second
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("compiler timed out after %s", compileTimeout)
	}
	if err == nil {
		return nil
	}
	var errors []TypeError
	for line := range strings.SplitSeq(string(out), "\n") {
		m := typeErrorLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		errors = append(errors, TypeError{m[1], n, m[3]})
	}
	if len(errors) == 0 {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	return errors
}

// WriteTestFile writes a file of a test.
func WriteTestFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Compiler returns the path of the native TypeScript compiler in node_modules.
func Compiler(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", "..", "node_modules", "@typescript", "typescript-"+runtime.GOOS+"-*", "lib", "tsc"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no TypeScript compiler in node_modules: run `npm ci` (%v)", err)
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}
