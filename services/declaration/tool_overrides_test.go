package declaration_test

import (
	"strings"
	"testing"

	"mcpgateway/services/declaration"
)

func TestToolOverrideProblems(t *testing.T) {
	const at = "projects.p.mcpServers.s.tools"
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, tt := range []struct{ override, path, text string }{
		{`{"a":{"alias":"x"}}`, at + ".a.alias", "unknown key"},
		{`{"a":{"titel":"x"}}`, at + ".a.titel", "did you mean title?"},
		{`{"a":{"default":{}}}`, at + ".a.default", "did you mean defaults?"},
		{`{"a":{"annotations":{"readOnly":true}}}`, at + ".a.annotations.readOnly", "did you mean readOnlyHint?"},
		{`{"a":{"annotations":{"readOnlyHint":null}}}`, at + ".a.annotations.readOnlyHint", "use true or false"},
		{`{"a":{"annotations":true}}`, at + ".a.annotations", "use an object"},
		{`{"a":{"as":""}}`, at + ".a.as", "use 1 to 128"},
		{`{"a":{"as":"a b"}}`, at + ".a.as", "use 1 to 128"},
		{`{"a":{"as":"é"}}`, at + ".a.as", "use 1 to 128"},
		{`{"a":{"as":"` + x(129) + `"}}`, at + ".a.as", "use 1 to 128"},
		{`{"a":{"as":7}}`, at + ".a.as", "use a string"},
		{`{"a":{"title":""}}`, at + ".a.title", "leave the key out"},
		{`{"a":{"title":"` + x(201) + `"}}`, at + ".a.title", "at most 200"},
		{`{"a":{"description":"` + x(16_385) + `"}}`, at + ".a.description", "at most 16384"},
		{`{"a":{"fixed":[]}}`, at + ".a.fixed", "use an object"},
		{`{"a":{"defaults":{"x":1,"x":2}}}`, "(file)", ""},
		{`{"a":{"fixed":{"":1}}}`, at + ".a.fixed.", "1 to 256 bytes"},
		{`{"a":{"fixed":{"` + x(257) + `":1}}}`, at + ".a.fixed." + x(257), "1 to 256 bytes"},
		{`{"a":{"fixed":{"x":1},"defaults":{"x":1}}}`, at + ".a.defaults.x", "fixed already"},
		{`{"":{"title":"x"}}`, at + ".", "1 to 400 bytes"},
		{`{"` + x(401) + `":{"title":"x"}}`, at + "." + x(401), "1 to 400 bytes"},
		{`{"a\u0000":{"title":"x"}}`, at + ".a\x00", "1 to 400 bytes"},
		{`{"a":"b"}`, at + ".a", "use an object"},
		{`["a"]`, at, "use an object"},
	} {
		_, err := declaration.Parse([]byte(inServer(`"tools":` + tt.override)))
		wantProblem(t, err, tt.text, tt.path)
	}
	for _, valid := range []string{
		`{}`, `{"a":{}}`, `{"a":{"as":"` + x(128) + `"}}`, `{"a":{"as":"A-b_c.9__d"}}`, `{"a":{"title":"` + x(200) + `","description":"` + x(16_384) + `"}}`,
		`{"` + x(400) + `":{"fixed":{"` + x(256) + `":null}}}`, `{"ü /{}":{"defaults":{"a.b":[1,{"c":"${X_TOKEN}"}]}}}`,
	} {
		parse(t, inServer(`"tools":`+valid))
	}
}

func TestToolOverrideSizeLimit(t *testing.T) {
	const around = len(`{"z":{"fixed":{"a":""}}}`)
	for size, ok := range map[int]bool{declaration.MaxToolOverrides - 1: true, declaration.MaxToolOverrides: true, declaration.MaxToolOverrides + 1: false} {
		file := inServer(`"tools": { "z" : {"fixed":{"a":"` + strings.Repeat("x", size-around) + `"}} }`) // spaces don't count
		_, err := declaration.Parse([]byte(file))
		if ok != (err == nil) {
			t.Errorf("%d bytes: %v", size, err)
		}
		if !ok {
			wantProblem(t, err, "at most 262144 bytes", "projects.p.mcpServers.s.tools")
		}
	}
}

func TestToolOverridesAreCompact(t *testing.T) {
	d := parse(t, inServer(`"tools":{"b":{ "fixed" : {"x": [ 1.50 , "<&>" ] }},"a":{"as":"c"},"none":{}}`))
	const want = `{"a":{"as":"c"},"b":{"fixed":{"x":[1.50,"<&>"]}}}`
	server := d.Projects["p"].Servers["s"]
	if got := string(server.ToolOverrides.JSON()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	checked, problems := server.Check()
	if got := string(checked.ToolOverrides.JSON()); got != want || len(problems) > 0 {
		t.Errorf("Check() = %s, %v", got, problems)
	}
	_, problems = (&declaration.Server{ToolOverrides: server.ToolOverrides}).Check()
	if len(problems) > 0 {
		t.Errorf("Check() alone: %v", problems)
	}
}

// TestToolsKeyOfClients distinguishes the gateway's key from the list of allowed
// tools that clients call alike.
func TestToolsKeyOfClients(t *testing.T) {
	client := func(tools string) *declaration.Server {
		return parse(t, `{"mcpServers":{"s":{"url":"https://up.example/mcp","tools":`+tools+`}}}`).Projects["default"].Servers["s"]
	}
	if s := client(`["a"]`); s.AllowedTools == nil || s.ToolOverrides != nil {
		t.Errorf("a list: %+v", s)
	}
	if s := client(`{"a":{"as":"b"}}`); s.AllowedTools != nil || s.ToolOverrides == nil {
		t.Errorf("an object: %+v", s)
	}
}
