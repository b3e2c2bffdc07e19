package codemode

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mcpgateway/services/sandbox"
)

// Diagnostic is one compiler diagnostic, at a position in the submitted code.
type Diagnostic struct {
	Line, Column int    // from 1
	Code, Text   string // "TS2322" and its message
}

// diagnosticPrefix is the prefix of the log lines with diagnostics.
const diagnosticPrefix = "typecheck: "

// UncheckedText is the log line of a run whose type check failed to run.
const UncheckedText = "The type check failed to run, so the code ran without it."

// String returns the diagnostic as one line.
func (d Diagnostic) String() string {
	return fmt.Sprintf("line %d, column %d: %s (%s)", d.Line, d.Column, d.Text, d.Code)
}

var diagnosticLine = regexp.MustCompile(`^line (\d+), column (\d+): (.*) \((TS\d+)\)$`)

// parseDiagnostic is the inverse of Diagnostic.String.
func parseDiagnostic(line string) (d Diagnostic, ok bool) {
	m := diagnosticLine.FindStringSubmatch(line)
	if m == nil {
		return d, false
	}
	d = Diagnostic{Text: m[3], Code: m[4]}
	d.Line, _ = strconv.Atoi(m[1])
	d.Column, _ = strconv.Atoi(m[2])
	return d, true
}

// IsDiagnostic reports whether a log line is a diagnostic.
func IsDiagnostic(l LogLine) bool {
	text, found := strings.CutPrefix(l.Text, diagnosticPrefix)
	_, ok := parseDiagnostic(text)
	return found && ok
}

// Diagnostics returns the diagnostics of the type check of a run, from its error
// or its log. A truncated diagnostic is omitted.
func (o Outcome) Diagnostics() []Diagnostic {
	var lines []string
	if o.Error != nil && o.Error.Phase == sandbox.PhaseTypecheck {
		lines = strings.Split(o.Error.Message, "\n")
	}
	for _, l := range o.Logs {
		if text, found := strings.CutPrefix(l.Text, diagnosticPrefix); found {
			lines = append(lines, text)
		}
	}
	var all []Diagnostic
	for _, line := range lines {
		if d, ok := parseDiagnostic(line); ok {
			all = append(all, d)
		}
	}
	return all
}
