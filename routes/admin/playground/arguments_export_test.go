package playground

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/services/rawjson"
	"mcpgateway/views/admin"
)

// MaxArgFields is the most fields that a form has.
const MaxArgFields = maxArgFields

// HasForm reports whether a form can hold what a schema describes.
func HasForm(schema string) bool {
	_, ok := argumentFields([]byte(schema))
	return ok
}

// WideSchema returns a schema with so many properties.
func WideSchema(n int) string {
	var properties []string
	for i := range n {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`
}

// ReadTyped returns the arguments that were typed into the form for a schema,
// and the problems by the names of fields.
func ReadTyped(t *testing.T, schema string, typed map[string][]string) (string, map[string]string) {
	t.Helper()
	fields, ok := argumentFields([]byte(schema))
	if !ok {
		t.Fatal("there is no form for the schema")
	}
	arguments, ok := readArguments(fields, func(name string) []string { return typed[name] })
	problems := problemsOf(fields)
	if ok != (problems == nil) {
		t.Errorf("ok is %v with the problems %v", ok, problems)
	}
	return string(arguments), problems
}

func problemsOf(fields []admin.ArgField) map[string]string {
	var all map[string]string
	for _, f := range fields {
		found := problemsOf(f.Children)
		if f.Error != "" {
			found = map[string]string{f.Name: f.Error}
		}
		for name, problem := range found {
			if all == nil {
				all = map[string]string{}
			}
			all[name] = problem
		}
	}
	return all
}

// FilledIn returns what the fields of the form for a schema hold when arguments
// are put into them, by their names, and the names of those that have no place.
func FilledIn(t *testing.T, schema, arguments string) (values map[string][]string, homeless []string) {
	t.Helper()
	fields, ok := argumentFields([]byte(schema))
	if !ok {
		t.Fatal("there is no form for the schema")
	}
	o, err := rawjson.ParseObject([]byte(arguments), rawjson.Strict)
	if err != nil {
		t.Fatal(err)
	}
	homeless = fillIn(fields, o)
	values = map[string][]string{}
	var add func([]admin.ArgField)
	add = func(fields []admin.ArgField) {
		for _, f := range fields {
			if f.Values != nil {
				values[f.Name] = f.Values
			}
			add(f.Children)
		}
	}
	add(fields)
	return values, homeless
}
