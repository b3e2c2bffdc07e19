package main_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docsAddress is the address that the documentation's examples use.
const docsAddress = "http://127.0.0.1:8080"

// exampleLimit is the maximum time of an example's command.
const exampleLimit = commandLimit

// example is a `console run` block: commands with their expected outputs, in
// which "…" matches any text.
type example struct {
	name  string // page and line
	steps []exampleStep
}

type exampleStep struct{ command, want string }

var consoleRun = regexp.MustCompile("(?ms)^( *)```console run\n(.*?)^ *```$")

// examplesOf returns the examples of a page.
func examplesOf(page, markdown string) []example {
	var all []example
	for _, at := range consoleRun.FindAllStringSubmatchIndex(markdown, -1) {
		e := example{name: fmt.Sprintf("%s:%d", page, strings.Count(markdown[:at[0]], "\n")+1)}
		indent := markdown[at[2]:at[3]]
		for line := range strings.Lines(markdown[at[4]:at[5]]) {
			line = strings.TrimPrefix(line, indent)
			if command, found := strings.CutPrefix(line, "$ "); found {
				e.steps = append(e.steps, exampleStep{command: strings.TrimSpace(command)})
			} else if n := len(e.steps); n > 0 {
				e.steps[n-1].want += line
			}
		}
		all = append(all, e)
	}
	return all
}

// matches reports whether the output is the expected one. Without expectation,
// any output matches.
func (s exampleStep) matches(output string) bool {
	want := strings.TrimSpace(s.want)
	if want == "" {
		return true
	}
	parts := strings.Split(want, "…")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`).MatchString(strings.TrimSpace(output))
}

func TestDocsExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("programs are left out of short tests")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("the examples need curl; run make deps")
	}
	s := &stage{root: moduleRoot(t), folder: t.TempDir()}
	s.binary = s.build(t, "gateway", "./cmd/gateway")
	address := freeAddress(t)
	s.base = "http://" + address
	s.env = []string{
		"HOME=" + s.folder, "PATH=" + s.folder + string(os.PathListSeparator) + os.Getenv("PATH"),
		"GATEWAY_DATABASE_URL=sqlite:" + filepath.Join(s.folder, "gateway.db"), "GATEWAY_ADMIN_TOKEN=token-of-the-examples", "GATEWAY_ADDR=" + address,
	}
	s.gateway = startProcess(t, program{name: "gateway", path: s.binary, dir: s.folder, env: s.env, args: []string{"serve", "--demo"}})
	eventually(t, readyLimit, "the demo's tools are listed", func(ctx context.Context) error {
		status, _, body, err := send(ctx, http.MethodPost, s.endpoint("demo"), "", []byte(listRequest))
		if err == nil && (status != http.StatusOK || !strings.Contains(string(body), "clock__current_time")) {
			err = fmt.Errorf("status %d: %.200s", status, body)
		}
		return err
	}, s.gateway)

	pages, err := filepath.Glob(filepath.Join(s.root, "views", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range pages {
		markdown, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range examplesOf(filepath.Base(page), string(markdown)) {
			ran++
			t.Run(e.name, func(t *testing.T) { s.checkExample(t, e) })
		}
	}
	if ran < 10 {
		t.Errorf("%d examples ran, want at least 10", ran)
	}
}

// checkExample runs the commands of an example in one directory.
func (s *stage) checkExample(t *testing.T, e example) {
	if len(e.steps) == 0 {
		t.Fatal("the block has no line that begins with \"$ \"")
	}
	for _, step := range e.steps {
		command := strings.ReplaceAll(step.command, docsAddress, s.base)
		got := mustRun(t, program{name: command, path: "bash", args: []string{"-euo", "pipefail", "-c", command}, dir: s.folder, env: s.env}, exampleLimit)
		if got = strings.ReplaceAll(got, s.base, docsAddress); !step.matches(got) {
			t.Errorf("$ %s\nprinted:\n%s\nwant:\n%s", step.command, got, step.want)
		}
	}
}

func TestExampleMatching(t *testing.T) {
	page := "Text.\n\n1. Item:\n\n   ```console run\n   $ echo '{\"a\":1}'\n   {\"a\":…\n   $ true\n   ```\n\n```console\n$ not run\n```\n"
	all := examplesOf("page.md", page)
	if len(all) != 1 || len(all[0].steps) != 2 || all[0].name != "page.md:5" {
		t.Fatalf("examplesOf = %+v, want one example with two steps", all)
	}
	tests := []struct {
		name, want, output string
		matches            bool
	}{
		{"equal", "ready\n", "ready\n", true},
		{"different", "ready\n", "not ready\n", false},
		{"longer output", "ready\n", "ready now\n", false},
		{"wildcard", "{\"a\":…}\n", "{\"a\":1,\n\"b\":2}\n", true},
		{"wildcard without the rest", "{\"a\":…}\n", "{\"a\":1", false},
		{"special characters", "[…].\n", "[1]x\n", false},
		{"no expectation", "", "anything\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (exampleStep{want: tt.want}).matches(tt.output); got != tt.matches {
				t.Errorf("matches(%q) with %q = %v, want %v", tt.output, tt.want, got, tt.matches)
			}
		})
	}
}
