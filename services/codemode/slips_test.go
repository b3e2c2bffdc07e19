package codemode_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mcpgateway/services/codemode"
	"mcpgateway/services/fault"
)

// minMended and minMoreMended are the minimum numbers of programs with slips
// whose outcome names the fix: of 48 in slips.json, and of 16 in
// more_slips.json.
const (
	minMended     = 43
	minMoreMended = 15
)

// slip is one program with a mistake.
type slip struct {
	Slip, Code string
	Mend, Not  []string
}

// slips are programs with typical mistakes and the servers that they call.
type slips struct {
	Servers []struct {
		Alias string
		Tools []struct {
			Name        string
			Annotations json.RawMessage
			Result      json.RawMessage
			Cases       []struct {
				Arguments any
				Result    json.RawMessage
			}
		}
	}
	Programs []slip
}

// Call returns the recorded result of a tool for these arguments.
func (s *slips) Call(_ context.Context, name string, arguments []byte) ([]byte, error) {
	var given any
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, err
	}
	for _, server := range s.Servers {
		for _, tool := range server.Tools {
			if server.Alias+"__"+tool.Name != name {
				continue
			}
			for _, c := range tool.Cases {
				if reflect.DeepEqual(c.Arguments, given) {
					return c.Result, nil
				}
			}
			return tool.Result, nil
		}
	}
	return nil, fault.New(fault.KindNotFound, fault.CodeToolNotFound, "There is no tool %q.", name)
}

func (s *slips) tools() []codemode.Tool {
	var all []codemode.Tool
	for _, server := range s.Servers {
		for _, t := range server.Tools {
			definition := []byte(`{"annotations":` + string(t.Annotations) + `}`)
			if t.Annotations == nil {
				definition = []byte(`{}`)
			}
			all = append(all, tool(server.Alias, t.Name, codemode.EffectOf(definition)))
		}
	}
	return all
}

func readTestdata(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// TestSlips runs programs with typical mistakes. The outcome of most must name
// the fix.
func TestSlips(t *testing.T) {
	var s slips
	readTestdata(t, "slips.json", &s)
	var more []slip
	readTestdata(t, "more_slips.json", &more)
	if n := mendedPrograms(t, &s, s.Programs); n < minMended || len(s.Programs) != 48 {
		t.Errorf("%d of %d programs with mistakes got their fix, want %d of 48", n, len(s.Programs), minMended)
	}
	if n := mendedPrograms(t, &s, more); n < minMoreMended || len(more) != 16 {
		t.Errorf("%d of %d more programs with mistakes got their fix, want %d of 16", n, len(more), minMoreMended)
	}
}

// mendedPrograms runs programs and returns the number of those whose outcome
// names the fix.
func mendedPrograms(t *testing.T, s *slips, programs []slip) (mended int) {
	t.Helper()
	r := runner(t, codemode.Options{})
	tools := s.tools()
	for _, p := range programs {
		out := run(t, r, codemode.Request{ProjectID: "p", Code: p.Code, Tools: tools}, s)
		text := out.Text()
		missing := slices.DeleteFunc(slices.Clone(p.Mend), func(m string) bool { return strings.Contains(text, m) })
		wrong := slices.DeleteFunc(slices.Clone(p.Not), func(m string) bool { return !strings.Contains(text, m) })
		if len(missing) == 0 && len(wrong) == 0 {
			mended++
			continue
		}
		t.Logf("%s\n%s\nhas no %q, has %q\n%s", p.Slip, p.Code, missing, wrong, text)
	}
	t.Logf("%d of %d", mended, len(programs))
	return mended
}

// TestCorrectPrograms runs programs without mistakes. None may get a hint.
func TestCorrectPrograms(t *testing.T) {
	var s slips
	readTestdata(t, "slips.json", &s)
	var programs []struct{ Code string }
	readTestdata(t, "correct.json", &programs)
	if len(programs) != 100 {
		t.Fatalf("%d programs, want 100", len(programs))
	}
	r := runner(t, codemode.Options{})
	tools := s.tools()
	for _, p := range programs {
		out := run(t, r, codemode.Request{ProjectID: "p", Code: p.Code, Tools: tools}, &s)
		if len(out.Hints) > 0 || !out.OK {
			t.Errorf("%s\nhints %q\n%s", p.Code, out.Hints, out.Text())
		}
	}
}
