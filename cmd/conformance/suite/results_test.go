//go:build conformance

package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Scenario is the outcome of one scenario, in checks.
type Scenario struct {
	Name           string
	Passed, Failed int
	Unscored       string   // why it is not scored; empty when it is
	Problems       []string // what the failed checks say
}

// Result is the outcome of a set.
type Result struct {
	Set       Set
	Scenarios []Scenario
	Err       error // the set could not be run
}

// Tally is the sum over scenarios.
type Tally struct {
	Scenarios int // in which no check failed and one passed
	Of        int
	Passed    int
	Failed    int
}

func (t *Tally) add(s *Scenario) {
	t.Of++
	t.Passed += s.Passed
	t.Failed += s.Failed
	if s.Failed == 0 && s.Passed > 0 {
		t.Scenarios++
	}
}

// Tallies returns the sums over the scored scenarios and over the others.
func (r *Result) Tallies() (scored, unscored Tally) {
	for i := range r.Scenarios {
		if s := &r.Scenarios[i]; s.Unscored == "" {
			scored.add(s)
		} else {
			unscored.add(s)
		}
	}
	return scored, unscored
}

// Met reports whether the set shows what is expected of it.
func (r *Result) Met() bool {
	scored, unscored := r.Tallies()
	want := r.Set.Want
	return r.Err == nil && scored.Failed == 0 && scored.Scenarios >= want.Scenarios && scored.Passed >= want.Checks && unscored.Passed >= want.Unscored
}

// report logs what the set showed, and the problems of the scenarios that
// failed. The test fails when the set is not met.
func (r *Result) report(t *testing.T) {
	t.Helper()
	for _, s := range r.Scenarios {
		switch {
		case s.Unscored != "":
			t.Logf("%s (%s): %d passed, %d failed", s.Name, s.Unscored, s.Passed, s.Failed)
		case s.Failed > 0 || s.Passed == 0:
			t.Logf("%s: %d passed, %d failed\n%s", s.Name, s.Passed, s.Failed, strings.Join(s.Problems, "\n"))
		}
	}
	scored, unscored := r.Tallies()
	t.Logf("%d of %d scenarios, checks %d/%d; not scored %d/%d", scored.Scenarios, scored.Of, scored.Passed, scored.Failed, unscored.Passed, unscored.Failed)
	if !r.Met() {
		t.Errorf("expected are %+v and no failure: %v", r.Set.Want, r.Err)
	}
}

var (
	summaryLine = regexp.MustCompile(`^[✓✗] (\S+): (\d+) passed, (\d+) failed`)
	reasonLine  = regexp.MustCompile(`^  [✓✗] (\S+) \(([^)]+)\)$`)
)

// parseSummary reads what a suite prints at the end of a run.
func parseSummary(out string) ([]Scenario, error) {
	_, summary, found := strings.Cut(out, "SUMMARY ===")
	if !found {
		return nil, errors.New("the suite printed no summary")
	}
	var all []Scenario
	index := map[string]int{}
	for line := range strings.SplitSeq(summary, "\n") {
		if m := summaryLine.FindStringSubmatch(line); m != nil {
			passed, _ := strconv.Atoi(m[2])
			failed, _ := strconv.Atoi(m[3])
			index[m[1]] = len(all)
			all = append(all, Scenario{Name: m[1], Passed: passed, Failed: failed})
		} else if m := reasonLine.FindStringSubmatch(line); m != nil {
			if i, known := index[m[1]]; known {
				all[i].Unscored = m[2]
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the suite ran no scenario")
	}
	return all, nil
}

// check is what a suite stores of one check, as far as it is used.
type check struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Status       string `json:"status"`
	Description  string `json:"description"`
	ErrorMessage string `json:"errorMessage"`
}

// resultFolder is how a suite names the folder of a scenario's results.
var resultFolder = regexp.MustCompile(`^(?:server-)?(.+)-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$`)

// readChecks returns what the suite stored below folder, by scenario.
func readChecks(folder string) (map[string]*Scenario, error) {
	all := map[string]*Scenario{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "checks.json" {
			return err
		}
		relative, err := filepath.Rel(folder, filepath.Dir(path))
		if err != nil {
			return err
		}
		m := resultFolder.FindStringSubmatch(filepath.ToSlash(relative))
		if m == nil {
			return fmt.Errorf("results in a folder with an unexpected name, %s", relative)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []check
		if err := json.Unmarshal(raw, &checks); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all[m[1]] = count(m[1], checks)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) { // no scenario got far enough
		err = nil
	}
	return all, err
}

// count returns the outcome of a scenario's checks.
func count(name string, checks []check) *Scenario {
	s := &Scenario{Name: name}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			s.Passed++
		case "FAILURE":
			s.Failed++
			said := c.ErrorMessage
			if said == "" {
				said = c.Description
			}
			s.Problems = append(s.Problems, c.ID+": "+said)
		}
	}
	return s
}
