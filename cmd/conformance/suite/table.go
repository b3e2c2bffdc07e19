package suite

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

const (
	maxProblems     = 3   // shown of one scenario
	maxProblemRunes = 200 // shown of one problem
)

// WriteTable writes one row for each set.
func WriteTable(w io.Writer, results []Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SET\tSCENARIOS\tPASSED\tFAILED\tNOT SCORED\tEXPECTED\tRESULT")
	for i := range results {
		r := &results[i]
		scored, unscored := r.Tallies()
		verdict := "below"
		if r.Met() {
			verdict = "met"
		}
		other := "-"
		if unscored.Of > 0 {
			other = fmt.Sprintf("%d/%d", unscored.Passed, unscored.Failed)
		}
		fmt.Fprintf(table, "%s\t%d of %d\t%d\t%d\t%s\t%s\t%s\n", r.Set.Name, scored.Scenarios, scored.Of, scored.Passed, scored.Failed, other, r.Set.Want, verdict)
	}
	return table.Flush()
}

// String returns what is expected in one cell.
func (w Want) String() string {
	s := fmt.Sprintf("%d scenarios", w.Scenarios)
	if w.Checks > 0 {
		s += fmt.Sprintf(", %d/0", w.Checks)
	}
	if w.Unscored > 0 {
		s += fmt.Sprintf(" + %d", w.Unscored)
	}
	return s
}

// WriteDetails writes the scenarios of a set: the failed ones with the reason,
// and all of them when every is true.
func WriteDetails(w io.Writer, r Result, every bool) {
	if r.Err != nil {
		fmt.Fprintf(w, "  %v\n", r.Err)
	}
	for _, s := range r.Scenarios {
		if s.Failed == 0 && s.Passed > 0 && !every {
			continue
		}
		mark, note := "✓", ""
		if s.Failed > 0 {
			mark = "✗"
		} else if s.Passed == 0 {
			mark = "–"
		}
		if s.Unscored != "" {
			if !every { // nothing depends on it
				continue
			}
			note = " (" + s.Unscored + ")"
		}
		fmt.Fprintf(w, "  %s %s: %d passed, %d failed%s\n", mark, s.Name, s.Passed, s.Failed, note)
		for _, problem := range s.Problems[:min(len(s.Problems), maxProblems)] {
			fmt.Fprintf(w, "      %s\n", shorten(problem))
		}
		if more := len(s.Problems) - maxProblems; more > 0 {
			fmt.Fprintf(w, "      and %d more\n", more)
		}
	}
}

// shorten returns a problem on one line.
func shorten(s string) string {
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > maxProblemRunes {
		return string(runes[:maxProblemRunes]) + "..."
	}
	return string(runes)
}
