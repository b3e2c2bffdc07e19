package declaration_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
)

func parse(t *testing.T, file string) *declaration.File {
	t.Helper()
	d, err := declaration.Parse([]byte(file))
	if err != nil {
		t.Fatalf("%v %v: %s", err, fieldsOf(err), file)
	}
	return d
}

func fieldsOf(err error) map[string]string {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f.Fields
	}
	return nil
}

// wantFault fails the test unless err is a fault with the code.
func wantFault(t *testing.T, err error, code fault.Code) fault.Fault {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got %v, want a fault %s", err, code)
	}
	return *f
}

// wantProblem fails the test unless err is VALIDATION_FAILED for exactly the
// paths and the message of the first contains text.
func wantProblem(t *testing.T, err error, text string, paths ...string) {
	t.Helper()
	f := wantFault(t, err, fault.CodeValidationFailed)
	got := make([]string, 0, len(f.Fields))
	for path := range f.Fields {
		got = append(got, path)
	}
	slices.Sort(got)
	first := paths[0]
	slices.Sort(paths)
	if !slices.Equal(got, paths) {
		t.Fatalf("problems at %q, want %q: %v", got, paths, f.Fields)
	}
	if !strings.Contains(f.Fields[first], text) {
		t.Errorf("%s: %q does not contain %q", first, f.Fields[first], text)
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}
