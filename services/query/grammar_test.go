package query_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/fault"
	"mcpgateway/services/query"
)

func surfaces() map[string]query.Grammar {
	return map[string]query.Grammar{"tool": query.Tools(), "server": query.Registry(), "template": query.Templates()}
}

func TestGrammarQualifiers(t *testing.T) {
	const read, elsewhere, nowhere = fault.Code(""), fault.CodeUnsupportedQualifier, fault.CodeUnknownQualifier
	for _, tc := range []struct {
		input                  string
		tool, server, template fault.Code
	}{
		{"server:x", read, elsewhere, elsewhere},
		{"name:x", read, elsewhere, elsewhere},
		{"param:x", read, elsewhere, elsewhere},
		{"readonly:true", read, elsewhere, elsewhere},
		{"destructive:false", read, elsewhere, elsewhere},
		{"transport:x", elsewhere, read, elsewhere},
		{"publisher:x", elsewhere, read, elsewhere},
		{"verified:true", elsewhere, read, elsewhere},
		{"featured:false", elsewhere, read, elsewhere},
		{"tag:x", elsewhere, read, read},
		{"category:x", elsewhere, elsewhere, read},
		{"type:x", read, read, read},
		{"entity:x", read, read, read},
		{"foo:x", nowhere, nowhere, nowhere},
		{"servers:x", nowhere, nowhere, nowhere},
	} {
		for surface, want := range map[string]fault.Code{"tool": tc.tool, "server": tc.server, "template": tc.template} {
			_, err := surfaces()[surface].Parse(tc.input)
			if want == read && err != nil || want != read && !fault.Is(err, want) {
				t.Errorf("%s for %ss: got %v, want %q", tc.input, surface, err, want)
			}
		}
	}
	for surface, g := range surfaces() {
		if g.Surface != surface {
			t.Errorf("the surface of %ss is called %q", surface, g.Surface)
		}
	}
}

func TestBoolQualifiers(t *testing.T) {
	for surface, names := range map[string][]string{"tool": {"readonly", "destructive"}, "server": {"verified", "featured"}} {
		for _, name := range names {
			if _, err := surfaces()[surface].Parse(name + ":x"); !fault.Is(err, fault.CodeInvalidValue) {
				t.Errorf("%s:x gave %v", name, err)
			}
		}
	}
}

func TestOtherTypeWarns(t *testing.T) {
	for _, tc := range []struct {
		input string
		warns bool
	}{
		{"a type:server", false}, {"a ENTITY:Servers", false}, {`a type:"server"`, false}, {"a type:ｓｅｒｖｅｒ", false},
		{"a -type:template", false}, {"a -entity:x", false},
		{"a type:tool", true}, {"a entity:templates", true}, {"a type:x", true}, {"a -type:server", true},
	} {
		q := parse(t, query.Registry(), tc.input)
		if len(q.Clauses) != 1 || q.Canonical() != "a" {
			t.Errorf("%q has an effect: %v", tc.input, q.Clauses)
		}
		if got := len(q.Warnings) > 0; got != tc.warns {
			t.Errorf("%q: warnings %v, want one: %t", tc.input, q.Warnings, tc.warns)
			continue
		}
		if !tc.warns {
			continue
		}
		w := q.Warnings[0]
		if w.Code != query.WarningFixedType || w.Message == "" || w.Span == nil || *w.Span != span(2, len(tc.input)) {
			t.Errorf("%q warns %+v", tc.input, w)
		}
	}
}

func TestWarningJSON(t *testing.T) {
	q := parse(t, query.Templates(), "日 type:tool")
	got, err := json.Marshal(append(q.Warnings, query.Warning{Code: "C", Message: "M"}))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"code":"RESULT_TYPE_FIXED","message":"type has no effect: this search returns only templates","span":{"start":2,"end":11}},{"code":"C","message":"M"}]`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestChoiceQualifiers(t *testing.T) {
	for input, want := range map[string]fault.Code{
		"access:read": "", "access:DESTRUCTIVE": "", "state:approve": "", "server:x param:y readonly:true": "",
		"access:reads": fault.CodeInvalidValue, "-state:held": fault.CodeInvalidValue, "access:": fault.CodeEmptyValue, "stat:on": fault.CodeUnknownQualifier,
	} {
		if _, err := query.ToolList().Parse(input); want == "" && err != nil || want != "" && !fault.Is(err, want) {
			t.Errorf("%s: got %v, want %q", input, err, want)
		}
	}
	_, err := query.ToolList().Parse("issue access:all")
	f := fault.From(err)
	if f.Span == nil || f.Span.Start != 6 || f.Span.End != 16 || f.Message != "access is one of read, write, destructive. Write access:read." {
		t.Errorf("%+v", f)
	}
	// The search of clients has no qualifiers for hidden tools.
	for _, input := range []string{"access:read", "state:on"} {
		if _, err := query.Tools().Parse(input); !fault.Is(err, fault.CodeUnknownQualifier) {
			t.Errorf("%s: %v", input, err)
		}
	}
}

func TestToolsetsHaveNoText(t *testing.T) {
	for input, want := range map[string]fault.Code{
		"":                         "",
		"server:a -name:b param:c": "",
		"readonly:true":            "",
		"issues":                   fault.CodeInvalidValue,
		`server:a -"two words"`:    fault.CodeInvalidValue,
		"type:tool":                fault.CodeUnsupportedQualifier,
		"entity:tool":              fault.CodeUnsupportedQualifier,
		"tag:a":                    fault.CodeUnsupportedQualifier,
		"srver:a":                  fault.CodeUnknownQualifier,
	} {
		_, err := query.Toolsets().Parse(input)
		if want == "" && err != nil || want != "" && !fault.Is(err, want) {
			t.Errorf("%q: %v, want %q", input, err, want)
		}
		if err != nil && (fault.From(err).Span == nil || strings.Contains(err.Error(), "as text")) {
			t.Errorf("%q: span %v of %v", input, fault.From(err).Span, err)
		}
	}
}
