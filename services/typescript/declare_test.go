package typescript_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"mcpgateway/services/schema"
	"mcpgateway/services/toolset"
	"mcpgateway/services/typescript"
	"mcpgateway/services/typescript/typescripttest"
)

var updateDeclarations = flag.Bool("update-declarations", false, "write the golden files of declarations")

func TestDeclarationsGolden(t *testing.T) {
	raw, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	byServer := map[string][]checkedTool{}
	for _, tool := range readCheckedTools(t, raw) {
		byServer[tool.Server] = append(byServer[tool.Server], tool)
	}
	for server, tools := range byServer {
		t.Run(server, func(t *testing.T) {
			declared := typescripttest.Declare(t, toolsOf(tools), typescript.Settings{})
			_, text, _ := strings.Cut(declared.Text, "\n\n")
			for _, w := range declared.Warnings {
				text += "// " + w.Code + ": " + w.Message + "\n"
			}
			compareGolden(t, strings.ReplaceAll(server, "/", "_")+".ts", text)
		})
	}
	t.Run("header", func(t *testing.T) {
		compareGolden(t, "header.ts", typescripttest.Declare(t, nil, typescript.Settings{AllowFetch: true}).Text)
	})
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata/declarations", name)
	if *updateDeclarations {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("mismatch (-want +got; -update-declarations updates it):\n%s", d)
	}
}

func TestDeclarationsTypeCheck(t *testing.T) {
	raw, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	tools := toolsOf(readCheckedTools(t, raw))
	for _, tc := range []struct {
		name, lib string
		settings  typescript.Settings
		tools     []*toolset.Tool
	}{
		{"language only", "es2023", typescript.Settings{}, tools},
		{"with fetch", "es2023", typescript.Settings{AllowFetch: true}, tools},
		{"browser", "es2023,dom,dom.iterable", typescript.Settings{AllowFetch: true}, tools},
		{"header", "es2023", typescript.Settings{}, nil},
		{"hostile text", "es2023", typescript.Settings{}, hostileTools()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			typescripttest.WriteTestFile(t, filepath.Join(dir, "declarations.ts"), typescripttest.Declare(t, tc.tools, tc.settings).Text)
			for _, e := range typescripttest.CompileTypesWith(t, dir, tc.lib, "declarations.ts") {
				t.Errorf("line %d: %s", e.Line, e.Text)
			}
		})
	}
}

func TestCodeTypeChecks(t *testing.T) {
	const code = `
async function main(): Promise<number> {
  const ticket = await ordinary["create_ticket"]({ project: "P", title: "T" });
  const id: string = ticket.id;
  console.info(id, input.anything);
  const found = await gateway.call("ordinary__search", { query: "x" });
  await gateway.search("find a ticket");
  try { await names$_and$_texts.delete({}); } catch (e) { if (e instanceof ToolError) return e.seq; }
  return new URL("https://example.com").port.length + structuredClone(found).n;
}
void main;
`
	raw, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	tools := toolsOf(readCheckedTools(t, raw))
	for _, tc := range []struct {
		name, code string
		settings   typescript.Settings
		errors     int
	}{
		{"valid code", code, typescript.Settings{}, 0},
		{"unknown property of a result", strings.Replace(code, "ticket.id", "ticket.title", 1), typescript.Settings{}, 1},
		{"unknown argument", strings.Replace(code, `title: "T"`, `title: "T", name: "N"`, 1), typescript.Settings{}, 1},
		{"fetch allowed", code + `void fetch("https://example.com").then((r) => r.json());`, typescript.Settings{AllowFetch: true}, 0},
		{"fetch not allowed", code + `void fetch("https://example.com");`, typescript.Settings{}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			typescripttest.WriteTestFile(t, filepath.Join(dir, "declarations.ts"), typescripttest.Declare(t, tools, tc.settings).Text)
			typescripttest.WriteTestFile(t, filepath.Join(dir, "code.ts"), tc.code)
			if found := typescripttest.CompileTypes(t, dir, "declarations.ts", "code.ts"); len(found) != tc.errors {
				t.Errorf("%d errors, want %d: %v", len(found), tc.errors, found)
			}
		})
	}
}

// hostileTools have texts and schemas that try to break out of declarations or
// to be expensive.
func hostileTools() []*toolset.Tool {
	var doubling, wide strings.Builder
	for i := range 24 {
		fmt.Fprintf(&doubling, `"a%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	for i := range 12 {
		fmt.Fprintf(&wide, `{"anyOf":[{"properties":{"p%da":{"type":"string"}},"required":["p%da"],"nullable":true},{"$ref":"#/$defs/a24"},{"enum":[%d,"%d"]}]},`, i, i, i, i)
	}
	texts := []string{
		"*/ declare const broken: any; /*", "*\u200b/ x", "@ts-ignore", "\n@ts-expect-error", "// @ts-nocheck\n", "\u2028*/\u2029", "`${process}`",
		"/// <reference path=\"/etc/passwd\" />", "\x00\x1b[31m", "ends with *", "\r\r\n*/\n/", "\u202e\u2066 txt", "@jsx h\n/** @jsxRuntime classic */",
	}
	bomb := strings.Repeat(`{"anyOf":[`, 100) + `{}` + strings.Repeat(`,{"type":"null"}]}`, 100)
	schemas := []string{
		`{"properties":{"v":{"$ref":"#/$defs/a0"}},"$defs":{` + doubling.String() + `"a24":{"type":"string"}}}`,
		`{"properties":{"v":{"allOf":[` + wide.String() + `true]}},"$defs":{"a24":{"type":"boolean"}}}`,
		bomb, `{"allOf":[` + bomb + `,` + bomb + `]}`, `{"type":"object","properties":` + bomb + `}`,
		`{"type":7,"properties":[1],"required":"a","items":null,"anyOf":{}}`, `{"properties":{"a":null,"b":7,"c":"x","d":[{}]}}`, `{"$ref":"#"}`, `{"$ref":7}`,
		`{"allOf":[{"$ref":"#"}]}`, `{"anyOf":[{"$ref":"#/anyOf/0"}]}`, `{"type":"string"}`, `false`, `true`, `[]`, `"x"`, `{"enum":[]}`, `{"const":null}`,
		`{"properties":{"a":{"enum":[1e400,-1e999,1e-400,-0,12345678901234567890,0.1]}}}`, `{"not":{}}`, `{"required":["a","a",1]}`,
		`{"properties":{"a":{"type":"array","prefixItems":[{"$ref":"#/properties/a"}],"minItems":99999999999}}}`,
		`{"properties":{"x":{"$ref":"#/properties/x/properties/y"}}}`, `{"$ref":"file:///etc/passwd"}`, `{"properties":{"x":{"$ref":"http://169.254.169.254/"}}}`,
		`{"$defs":{"A":{"type":"object","properties":{"x":{"$ref":"#/$defs/B"}},"oneOf":[{"$ref":"#/$defs/B"},{"type":"null"}]},"B":{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}},"properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/B"}}}`,
		`{"patternProperties":{"(":{"type":"string"}},"additionalProperties":{"$ref":"#"}}`,
		`{"properties":{` + typescripttest.Numbered(6_000, `"p%d":{"type":"string"}`) + `}}`,
		`{"properties":{"a":{"enum":[` + typescripttest.Numbered(3_000, `"value%d"`) + `]}}}`,
	}
	var tools []*toolset.Tool
	for i, text := range texts {
		quoted, _ := json.Marshal(text)
		tools = append(tools, typescripttest.HostileTool(text, text, fmt.Sprintf(`{"properties":{%s:{"description":%s,"default":%s,"pattern":%s,"format":%s,"enum":[%s]},"d%d":{"$ref":"#/$defs/%d"}},"$defs":{"%d":{"const":%s}}}`, quoted, quoted, quoted, quoted, quoted, quoted, i, i, i, quoted)))
	}
	for i, schema := range schemas {
		tools = append(tools, typescripttest.HostileTool(fmt.Sprintf("schema%d", i), "", schema))
	}
	return append(tools, typescripttest.Tool("hostile", "no schema", []byte(`{"name":"no schema"}`)), typescripttest.Tool("hostile", "no JSON", []byte(`{"name"`)), typescripttest.Tool("hostile", "no object", []byte(`[]`)))
}

func TestHostileDefinitions(t *testing.T) {
	for _, tool := range hostileTools() {
		t.Run(fmt.Sprintf("%.40q", tool.Upstream), func(t *testing.T) {
			begin := typescripttest.CPUTime(t)
			declared := typescripttest.Declare(t, []*toolset.Tool{tool}, typescript.Settings{})
			if took := typescripttest.CPUTime(t) - begin; took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			checkDeclared(t, declared, tool)
		})
	}
}

// checkDeclared fails the test unless the tool is declared exactly once, within
// its limits, with visible characters only.
func checkDeclared(t *testing.T, declared *typescript.Declared, tool *toolset.Tool) {
	t.Helper()
	const texts = 64 << 10 // the header and the description
	if declared.Tools != 1 || len(declared.Text) > typescript.MaxToolDeclaration+texts {
		t.Errorf("%d tools in %d bytes", declared.Tools, len(declared.Text))
	}
	for _, r := range declared.Text {
		if r != '\n' && (unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029') {
			t.Errorf("declarations contain %U", r)
		}
	}
	if n := strings.Count(declared.Text, "declare const "+typescript.Identifier(tool.Server.Config.Alias)+": {\n"); n != 1 {
		t.Errorf("%d constants of the server, want 1", n)
	}
}

func TestDeclarationLimits(t *testing.T) {
	nested := func(levels int) string {
		return strings.Repeat(`{"type":"object","properties":{"n":`, levels) + `{"type":"string"}` + strings.Repeat(`}}`, levels)
	}
	filled := func(bytes int) string { // an enumeration whose type has about that many bytes
		return `{"type":"object","properties":{"a":{"enum":["` + strings.Repeat("x", bytes) + `"]}}}`
	}
	overhead := len(`{ a?: "" }`) + len("any") // the text around it; the object is too long for one line
	overhead += len("{\n    a?: \"\";\n  }") - len(`{ a?: "" }`)
	for _, tc := range []struct {
		name, schema string
		simplified   bool
	}{
		{"levels - 1", nested(typescript.MaxSchemaDepth - 1), false},
		{"levels", nested(typescript.MaxSchemaDepth), false},
		{"levels + 1", nested(typescript.MaxSchemaDepth + 1), true},
		{"bytes - 1", filled(typescript.MaxToolDeclaration - overhead - 1), false},
		{"bytes", filled(typescript.MaxToolDeclaration - overhead), false},
		{"bytes + 1", filled(typescript.MaxToolDeclaration - overhead + 1), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			declared := typescripttest.Declare(t, []*toolset.Tool{typescripttest.HostileTool("x", "", tc.schema)}, typescript.Settings{})
			if simplified := len(declared.Warnings) > 0; simplified != tc.simplified {
				t.Errorf("warnings: %v", declared.Warnings)
			}
		})
	}
	definition := func(bytes int) []byte {
		d := `{"inputSchema":{"type":"object","required":["a"]},"x":""}`
		return []byte(strings.Replace(d, `"x":""`, `"x":"`+strings.Repeat("x", bytes-len(d))+`"`, 1))
	}
	for _, tc := range []struct {
		bytes int
		read  bool
	}{{schema.MaxBytes - 1, true}, {schema.MaxBytes, true}, {schema.MaxBytes + 1, false}} {
		declared := typescripttest.Declare(t, []*toolset.Tool{typescripttest.Tool("a", "x", definition(tc.bytes))}, typescript.Settings{})
		if read := strings.Contains(declared.Text, "args: { a: unknown }"); read != tc.read {
			t.Errorf("%d bytes: %v", tc.bytes, read)
		}
	}
}

func TestFullDeclarationLimit(t *testing.T) {
	big := `{"type":"object","properties":{"a":{"enum":["` + strings.Repeat("x", 30_000) + `"]}}}`
	var tools []*toolset.Tool
	for i := range typescript.MaxFullDeclarations/30_000 + 10 {
		tools = append(tools, typescripttest.HostileTool(fmt.Sprint("t", i), "", big))
	}
	declared := typescripttest.Declare(t, tools, typescript.Settings{})
	if len(declared.Text) > typescript.MaxFullDeclarations+1024 || declared.Tools >= len(tools) || declared.Tools < len(tools)-20 {
		t.Errorf("%d of %d tools in %d bytes", declared.Tools, len(tools), len(declared.Text))
	}
	if len(declared.Warnings) != 1 || declared.Warnings[0].Code != typescript.WarningDeclarationsCut || !strings.HasSuffix(declared.Text, "// "+declared.Warnings[0].Message+"\n") {
		t.Errorf("warnings: %v", declared.Warnings)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := typescript.Declare(ctx, tools, typescript.Settings{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Declare() with an ended context = %v", err)
	}
}

func TestSameTypeNamesStayDistinct(t *testing.T) {
	schema := `{"properties":{"a":{"$ref":"#/$defs/%s"}},"$defs":{"%s":{"const":%d}}}`
	long := strings.Repeat("n", 200)
	tools := []*toolset.Tool{
		typescripttest.HostileTool("a", "", fmt.Sprintf(schema, "b__c", "b__c", 1)), typescripttest.HostileTool("a__b", "", fmt.Sprintf(schema, "c", "c", 2)),
		typescripttest.HostileTool(long+"1", "", fmt.Sprintf(schema, "c", "c", 3)), typescripttest.HostileTool(long+"2", "", fmt.Sprintf(schema, "c", "c", 4)), typescripttest.HostileTool(long+"3", "", fmt.Sprintf(schema, "c_2", "c_2", 5)),
	}
	text := typescripttest.Declare(t, tools, typescript.Settings{}).Text
	for i := 1; i <= len(tools); i++ {
		if !strings.Contains(text, fmt.Sprintf(" = %d;\n", i)) {
			t.Errorf("type %d is missing", i)
		}
	}
	dir := t.TempDir()
	typescripttest.WriteTestFile(t, filepath.Join(dir, "declarations.ts"), text)
	for _, e := range typescripttest.CompileTypes(t, dir, "declarations.ts") {
		t.Errorf("line %d: %s", e.Line, e.Text)
	}
}

func TestSizeInTokens(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 1, "abcd": 1, "abcde": 2} {
		if got := typescript.SizeInTokens(text); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func FuzzDeclare(f *testing.F) {
	raw, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		f.Fatal(err)
	}
	var tools []checkedTool
	if err := json.Unmarshal(raw, &tools); err != nil {
		f.Fatal(err)
	}
	for _, tool := range toolsOf(tools) {
		f.Add(tool.Definition, []byte(`{"a":1}`))
	}
	for _, tool := range hostileTools() {
		if len(tool.Definition) < 10_000 {
			f.Add(tool.Definition, []byte(`{"v":{"n":["x"]}}`))
		}
	}
	f.Fuzz(func(t *testing.T, definition, arguments []byte) {
		tool := typescripttest.Tool("hostile", "x", definition)
		checkDeclared(t, typescripttest.Declare(t, []*toolset.Tool{tool}, typescript.Settings{}), tool)
		_ = schema.NewValidator().Check(definition, arguments)
	})
}
