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

// Scenario is the result of one scenario: its numbers of checks.
type Scenario struct {
	Name           string
	Passed, Failed int
	Unscored       string   // reason for not scoring it; empty if it is scored
	Problems       []string // messages of the failed checks
}

// Result is the result of a set.
type Result struct {
	Set       Set
	Scenarios []Scenario
	Err       error // the set could not be run
}

// Tally is a sum over scenarios.
type Tally struct {
	Scenarios int // without failed checks and with at least one passed check
	Of        int // all scenarios
	Passed    int // checks
	Failed    int // checks
}

func (t *Tally) add(s *Scenario) {
	t.Of++
	t.Passed += s.Passed
	t.Failed += s.Failed
	if s.Failed == 0 && s.Passed > 0 {
		t.Scenarios++
	}
}

// Tallies returns the sums over the scored and the unscored scenarios.
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

// Met reports whether the result meets the set's expectations.
func (r *Result) Met() bool {
	scored, unscored := r.Tallies()
	want := r.Set.Want
	return r.Err == nil && scored.Failed == 0 && scored.Scenarios >= want.Scenarios && scored.Passed >= want.Checks && unscored.Passed >= want.Unscored
}

// report logs the result and the problems of failed scenarios. It fails the test if
// the result doesn't meet the set's expectations.
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
		t.Errorf("want at least %+v and no failure; error: %v", r.Set.Want, r.Err)
	}
}

var (
	summaryLine = regexp.MustCompile(`^[✓✗] (\S+): (\d+) passed, (\d+) failed`)
	reasonLine  = regexp.MustCompile(`^  [✓✗] (\S+) \(([^)]+)\)$`)
)

// parseSummary parses the summary that a suite prints at the end of a run.
func parseSummary(out string) ([]Scenario, error) {
	_, summary, found := strings.Cut(out, "SUMMARY ===")
	if !found {
		return nil, errors.New("suite printed no summary")
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
		return nil, errors.New("suite ran no scenario")
	}
	return all, nil
}

// check holds the used fields of a check in a suite's results.
type check struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Status       string `json:"status"`
	Description  string `json:"description"`
	ErrorMessage string `json:"errorMessage"`
}

// resultFolder matches the name of a folder with a scenario's results.
var resultFolder = regexp.MustCompile(`^(?:server-)?(.+)-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$`)

// readChecks reads the suite's results in folder. It returns them by scenario.
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
			return fmt.Errorf("results in a folder with an unexpected name: %s", relative)
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
	if errors.Is(err, fs.ErrNotExist) { // no scenario stored results
		err = nil
	}
	return all, err
}

// count counts the checks of a scenario.
func count(name string, checks []check) *Scenario {
	s := &Scenario{Name: name}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			s.Passed++
		case "FAILURE":
			s.Failed++
			problem := c.ErrorMessage
			if problem == "" {
				problem = c.Description
			}
			s.Problems = append(s.Problems, c.ID+": "+problem)
		}
	}
	return s
}
