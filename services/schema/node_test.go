package schema_test

import (
	"strings"
	"testing"

	"mcpgateway/services/schema"
)

func TestParseKeepsOrderAndText(t *testing.T) {
	root, err := schema.Parse([]byte(" {\"a\" :\t[ 1 , \"x\\u0079\" ,{\"b\":null}] , \"c\":-1.50e3 } "))
	if err != nil {
		t.Fatal(err)
	}
	list := root.ListOf("a")
	for _, c := range []struct {
		node *schema.Node
		want string
	}{
		{root.Get("a"), `[ 1 , "x\u0079" ,{"b":null}]`}, {list[0], "1"}, {list[1], `"x\u0079"`}, {list[2], `{"b":null}`}, {list[2].Get("b"), "null"}, {root.Get("c"), "-1.50e3"},
	} {
		if got := string(c.node.Raw); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestOutside(t *testing.T) {
	for raw, want := range map[string]string{
		`{"$ref":"#/a"}`: "", `{"$ref":"other.json"}`: "", `{"$ref":"http://json-schema.org/draft-07/schema#"}`: "", `{"properties":{"$ref":{"type":"string"}}}`: "",
		`["$ref","http://a"]`: "", `{"a":"$ref","b":"http://a"}`: "", `{"$ref":`: "", `{"$ref":7,"a":"file:///x"}`: "",
		`{"$ref":"file:///x"}`:                                       "file:///x",
		`{"items":[{},{"a":{"$dynamicRef":"http://a/b"}}]}`:          "http://a/b",
		`{"$ref":"#","a":[1,{"$ref":"#"}],"$ref":"http://a"}`:        "http://a",
		`{"$ref":"http://a","$ref":"#"}`:                             "http://a",
		strings.Repeat(`{"a":`, 500) + `{"$ref":"x:y"}`:              "x:y",
		`{"allOf":[{"$ref":"#/a"},{"x":["ef\"",{"$ref":"urn:z"}]}]}`: "urn:z",
	} {
		if got := schema.ExternalRef([]byte(raw)); got != want {
			t.Errorf("Outside(%.60s) = %q, want %q", raw, got, want)
		}
	}
}
