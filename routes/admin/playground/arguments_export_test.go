package playground

import (
	"fmt"
	"strings"
	"testing"

	"mcpgateway/services/rawjson"
	"mcpgateway/views/admin"
)

// MaxArgFields exports maxArgFields.
const MaxArgFields = maxArgFields

// HasForm reports whether a form can represent a schema.
func HasForm(schema string) bool {
	_, ok := argumentFields([]byte(schema))
	return ok
}

// WideSchema returns a schema with n properties.
func WideSchema(n int) string {
	var properties []string
	for i := range n {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`
}

// ReadTyped returns the arguments entered in the form for a schema, and the errors
// by field name.
func ReadTyped(t *testing.T, schema string, typed map[string][]string) (string, map[string]string) {
	t.Helper()
	fields, ok := argumentFields([]byte(schema))
	if !ok {
		t.Fatal("schema has no form")
	}
	arguments, ok := readArguments(fields, func(name string) []string { return typed[name] })
	problems := problemsOf(fields)
	if ok != (problems == nil) {
		t.Errorf("ok = %v, problems = %v", ok, problems)
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

// FilledIn returns the field values of the form for a schema after it is filled
// with arguments, and the names of arguments that the form cannot represent.
func FilledIn(t *testing.T, schema, arguments string) (values map[string][]string, homeless []string) {
	t.Helper()
	fields, ok := argumentFields([]byte(schema))
	if !ok {
		t.Fatal("schema has no form")
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
