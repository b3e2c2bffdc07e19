// Command checklanguage finds wording that this project replaces with plain
// English and the standard terms of its field.
//
// It reads comments, text and declared names of Go and templ files, prose of
// Markdown, commit messages (COMMIT_EDITMSG), and comments of SQL, JavaScript,
// TypeScript, CSS, shell, YAML, Dockerfiles and Makefiles. It skips generated
// files, testdata, results of tests and node_modules, and lines that contain
// "language:ignore".
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const usage = `usage: checklanguage [-count] [PATH ...]       (default: the current folder)

Prints FILE:LINE: MATCH -> ADVICE and exits with 1 if there are findings.
With -count it prints the number of findings per folder and per advice instead.
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code: 0 without findings, 1 with findings, 2 for invalid
// arguments or files.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("checklanguage", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage) }
	counting := flags.Bool("count", false, "print the number of findings per folder and per advice")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	paths := flags.Args()
	if len(paths) == 0 {
		paths = []string{"."}
	}
	rules, err := parseRules(ruleTable)
	if err != nil {
		fmt.Fprintln(stderr, "checklanguage:", err)
		return 2
	}
	folders, advice := map[string]int{}, map[string]int{}
	for _, path := range paths {
		err := walk(path, func(file string) error {
			findings, err := checkFile(rules, file)
			for _, f := range findings {
				folders[filepath.Dir(file)]++
				advice[f.advice]++
				if !*counting {
					fmt.Fprintf(stdout, "%s:%d: %s -> %s\n", file, f.line, f.match, f.advice)
				}
			}
			return err
		})
		if err != nil {
			fmt.Fprintln(stderr, "checklanguage:", err)
			return 2
		}
	}
	if *counting {
		printCounts(stdout, folders)
		printCounts(stdout, advice)
	}
	if len(folders) > 0 {
		return 1
	}
	return 0
}

func printCounts(w io.Writer, counts map[string]int) {
	total := 0
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(w, "%6d %s\n", counts[key], key)
		total += counts[key]
	}
	fmt.Fprintf(w, "%6d total\n", total)
}

// skippedFolders contain third-party code, test data or build results.
var skippedFolders = []string{".git", "node_modules", "vendor", "testdata", "bin", "dist", "results"}

// walk calls check for each file of a supported type in path.
func walk(path string, check func(file string) error) error {
	return filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != path && slices.Contains(skippedFolders, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || extractor(file) == nil:
			return nil
		}
		return check(file)
	})
}

// finding is one match of a rule.
type finding struct {
	line   int
	match  string
	advice string
}

// checkFile returns the findings of a file, sorted by line.
func checkFile(rules []rule, file string) ([]finding, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return check(rules, file, source)
}

func check(rules []rule, file string, source []byte) ([]finding, error) {
	parts, err := extractor(file)(file, source)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(source, []byte("\n"))
	var findings []finding
	for _, p := range parts {
		for _, f := range p.findings(rules) {
			if f.line > len(lines) || !bytes.Contains(lines[f.line-1], []byte("language:ignore")) {
				findings = append(findings, f)
			}
		}
	}
	slices.SortStableFunc(findings, func(a, b finding) int { return a.line - b.line })
	return slices.Compact(findings), nil
}

// findings returns the matches of the rules with the part's scope.
func (p part) findings(rules []rule) []finding {
	var found []finding
	for _, r := range rules {
		if !strings.ContainsRune(r.scopes, rune(p.scope)) {
			continue
		}
		for _, at := range r.pattern.FindAllStringIndex(p.text, -1) {
			match := p.text[at[0]:at[1]]
			if r.except != nil && r.except.MatchString(match) {
				continue
			}
			line := p.line + strings.Count(p.text[:at[0]], "\n")
			found = append(found, finding{line, strings.Join(strings.Fields(match), " "), r.advice})
		}
	}
	return found
}
