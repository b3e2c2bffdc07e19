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

// isWarning reports whether a diagnostic never fails a run: arithmetic with a
// value of another type, and a property of an object whose type is unknown.
// Programs with either are often right.
func (d Diagnostic) isWarning() bool {
	switch d.Code {
	case "TS2362", "TS2363":
		return true
	case "TS2339":
		return strings.HasSuffix(d.Text, "on type '{}'.") || strings.HasSuffix(d.Text, "on type 'unknown'.")
	}
	return false
}

// because replaces the text with a more specific reason, if it names a property
// or a type.
func (d *Diagnostic) because(reason string) {
	if strings.HasPrefix(reason, "Property '") || strings.HasPrefix(reason, "Type '") || strings.HasPrefix(reason, "Object literal") {
		d.Text = shortened(reason)
	}
}

// installAdvice follows messages about names and modules. It doesn't apply to
// code without modules.
var installAdvice = regexp.MustCompile(` Do you need to (?:install|change) .*| or its corresponding type declarations`)

// maxTypeText is the maximum length of a type in a diagnostic, in bytes.
const maxTypeText = 40

var (
	typeOwner = regexp.MustCompile(` (?:(?:in|on|of) type|but required in type) '([^']*)'`)
	typeText  = regexp.MustCompile(`type '([^']*)'`)
)

// shortened returns a message of the compiler without its long types, so that
// the name and the suggestion remain.
func shortened(message string) string {
	message = installAdvice.ReplaceAllString(message, "")
	message = typeOwner.ReplaceAllStringFunc(message, func(owner string) string {
		if len(typeOwner.FindStringSubmatch(owner)[1]) > maxTypeText {
			return ""
		}
		return owner
	})
	return typeText.ReplaceAllStringFunc(message, func(found string) string {
		if text := typeText.FindStringSubmatch(found)[1]; len(text) > maxTypeText {
			return "type '" + sandbox.ClipText(text, maxTypeText) + "'"
		}
		return found
	})
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
