package playground_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/routes/admin/playground"
)

// varied is a schema with arguments of every kind of form field.
const varied = `{"type":"object","required":["title","state","ids"],"$defs":{"Level":{"enum":["low",2,null]}},"properties":{
		"title":{"type":"string"},"count":{"type":"integer"},"ratio":{"type":"number"},"urgent":{"type":"boolean"},
		"state":{"enum":["open","closed"]},"level":{"$ref":"#/$defs/Level"},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"ids":{"type":"array","items":{"type":"integer"}},"a/b~c":{"type":["string","null"]},
		"owner":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"},"login":{"type":"string"}}},
		"mixed":{"oneOf":[{"type":"string"},{"type":"number"}]},"rows":{"type":"array","items":{"type":"object"}}}}`

func TestReadArguments(t *testing.T) {
	good := map[string][]string{"arg:/title": {"It fails"}, "arg:/state": {`"open"`}, "arg:/ids": {"1", "", "20000000000000000001"}}
	for _, c := range []struct {
		name     string
		typed    map[string][]string
		want     string
		problems map[string]string
	}{
		{name: "omitted values", want: `{"title":"It fails","state":"open","ids":[1,20000000000000000001]}`},
		{name: "exact numbers", typed: map[string][]string{"arg:/count": {"9007199254740993"}, "arg:/ratio": {" 1.50e3 "}},
			want: `{"title":"It fails","count":9007199254740993,"ratio":1.50e3,"state":"open","ids":[1,20000000000000000001]}`},
		{name: "choices, references and alternatives with null", typed: map[string][]string{"arg:/urgent": {"false"}, "arg:/level": {"2"}, "arg:/note": {"a\r\nb"}},
			want: `{"title":"It fails","urgent":false,"state":"open","level":2,"note":"a\nb","ids":[1,20000000000000000001]}`},
		{name: "names with pointer characters", typed: map[string][]string{"arg:/a~1b~0c": {`"`}},
			want: `{"title":"It fails","state":"open","ids":[1,20000000000000000001],"a/b~c":"\""}`},
		{name: "optional group with values", typed: map[string][]string{"arg:/owner/login": {"ada"}, "arg:/owner/id": {"7"}},
			want: `{"title":"It fails","state":"open","ids":[1,20000000000000000001],"owner":{"id":7,"login":"ada"}}`},
		{name: "required member of an optional group", typed: map[string][]string{"arg:/owner/login": {"ada"}}, problems: map[string]string{"arg:/owner/id": "this is required"}},
		{name: "raw JSON", typed: map[string][]string{"arg:/mixed": {`"x"`}, "arg:/rows": {`[{"a":1}]`}},
			want: `{"title":"It fails","state":"open","ids":[1,20000000000000000001],"mixed":"x","rows":[{"a":1}]}`},
		{name: "invalid values", typed: map[string][]string{"arg:/count": {"1.5"}, "arg:/ratio": {"1,5"}, "arg:/state": {`"gone"`}, "arg:/mixed": {"x"}, "arg:/ids": {"one"}, "arg:/urgent": {"perhaps"}},
			problems: map[string]string{
				"arg:/count": "enter a whole number", "arg:/ratio": "enter a number", "arg:/state": "choose one of the values",
				"arg:/mixed": "use valid JSON; put text in double quotes", "arg:/ids": "enter a whole number", "arg:/urgent": "choose one of the values",
			}},
		{name: "missing required values", typed: map[string][]string{"arg:/title": {""}, "arg:/state": {""}, "arg:/ids": nil}, problems: map[string]string{"arg:/state": "this is required"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			typed := map[string][]string{}
			for name, values := range good {
				typed[name] = values
			}
			for name, values := range c.typed {
				typed[name] = values
			}
			got, problems := playground.ReadTyped(t, varied, typed)
			if diff := cmp.Diff(c.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if c.problems == nil && got != c.want {
				t.Errorf("arguments\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestSchemasWithForm(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object"}`:                                                           true,
		`{"type":"object","properties":{}}`:                                           true,
		`{"type":"object","additionalProperties":false}`:                              true,
		`{"type":"object","additionalProperties":{"type":"string"}}`:                  false,
		`{"type":"object","additionalProperties":true}`:                               false,
		`{"anyOf":[{"type":"object"}]}`:                                               false,
		`[]`:                                                                          false,
		playground.WideSchema(playground.MaxArgFields - 1):                            true,
		playground.WideSchema(playground.MaxArgFields):                                true,
		playground.WideSchema(playground.MaxArgFields + 1):                            false,
		`{"properties":{"a":{"$ref":"#/properties/a"}}}`:                              true, // recursive: raw JSON
		`{"properties":{"a":{"type":"array","items":{"$ref":"#/properties/a"}}}}`:     true, // recursive array: raw JSON
		`{"properties":{"a":{"$ref":"https://elsewhere.example/schema"},"b":true}}`:   true,
		`{"properties":{"a":{"type":"object"},"b":{"type":"array"},"c":{"type":[]}}}`: true,
	} {
		if got := playground.HasForm(schema); got != want {
			t.Errorf("HasForm(%.80s) = %v, want %v", schema, got, want)
		}
	}
}

func TestFillArguments(t *testing.T) {
	const all = `{ "title": "It \u0066ails", "count": 9007199254740993, "ratio": 1.50e3, "urgent": false, "state": "op\u0065n", "level": 2, "note": "a",
		"ids": [1, 20000000000000000001], "a/b~c": "\"", "owner": {"id": 7, "login": "ada"}, "mixed": "x", "rows": [{"a": 1}]}`
	values, homeless := playground.FilledIn(t, varied, all)
	want := map[string][]string{
		"arg:/title": {"It fails"}, "arg:/count": {"9007199254740993"}, "arg:/ratio": {"1.50e3"}, "arg:/urgent": {"false"}, "arg:/state": {`"open"`},
		"arg:/level": {"2"}, "arg:/note": {"a"}, "arg:/ids": {"1", "20000000000000000001"}, "arg:/a~1b~0c": {`"`}, "arg:/owner/id": {"7"},
		"arg:/owner/login": {"ada"}, "arg:/mixed": {`"x"`}, "arg:/rows": {`[{"a": 1}]`},
	}
	if diff := cmp.Diff(want, values); diff != "" || homeless != nil {
		t.Errorf("unrepresented = %v, values (-want +got):\n%s", homeless, diff)
	}
	for _, c := range []struct {
		arguments     string
		unrepresented []string
	}{
		{`{}`, nil}, // omitted arguments stay empty
		{`{"title":""}`, nil},
		{`{"note":""}`, []string{"note"}}, // an empty field of an optional argument sends nothing
		{`{"elsewhere":1,"title":"x"}`, []string{"elsewhere"}},
		{`{"Title":"x"}`, []string{"Title"}},
		{`{"count":"7"}`, []string{"count"}},
		{`{"count":7.5}`, []string{"count"}},
		{`{"title":7}`, []string{"title"}},
		{`{"title":null}`, []string{"title"}},
		{`{"title":"a\nb"}`, []string{"title"}},
		{`{"state":"gone","level":null}`, []string{"state"}},
		{`{"ids":[1,"2"]}`, []string{"ids"}},
		{`{"ids":7}`, []string{"ids"}},
		{`{"ids":[]}`, nil},
		{`{"owner":{"id":7,"more":1}}`, []string{"owner"}},
		{`{"owner":[]}`, []string{"owner"}},
		{`{"owner":{}}`, []string{"owner"}},
		{`{"rows":[{"a":null}],"mixed":null}`, nil},
	} {
		if _, homeless := playground.FilledIn(t, varied, c.arguments); !cmp.Equal(c.unrepresented, homeless) {
			t.Errorf("FilledIn(%s): unrepresented = %v, want %v", c.arguments, homeless, c.unrepresented)
		}
	}
}
