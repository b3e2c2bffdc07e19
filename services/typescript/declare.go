// Package typescript writes tools as TypeScript declarations: their schemas as
// types, their servers as constants with stable identifiers. Text from an
// upstream server can't escape from comments, names and literals.
package typescript

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mcpgateway/services/fault"
	"mcpgateway/services/schema"
	"mcpgateway/services/toolset"
)

// The codes of warnings about declarations.
const (
	// WarningSchemaSimplified means that a type is wider than its schema.
	WarningSchemaSimplified = "SCHEMA_SIMPLIFIED"
	// WarningDeclarationsCut means that some tools are not declared.
	WarningDeclarationsCut = "DECLARATIONS_CUT"
)

// Settings are the project settings that declarations depend on.
type Settings struct {
	AllowFetch bool // code may use fetch, so it is declared
}

// SettingsOf returns the settings of a project.
func SettingsOf(project *toolset.Snapshot) Settings {
	return Settings{AllowFetch: project.Project.CodeModeAllowFetch}
}

// Declared are TypeScript declarations that type-check on their own.
type Declared struct {
	Text     string
	Tools    int // number of declared tools
	Warnings []fault.Warning
}

// Declare returns the declarations of tools: the header, then one constant per
// server, in the order of the servers' first tools (specification, "Built-in
// tool gateway_listTools"). Upstream text appears only in comments, names and
// literals. Tools beyond MaxFullDeclarations are omitted with a warning. When
// the context ends, Declare returns its error.
func Declare(ctx context.Context, tools []*toolset.Tool, settings Settings) (*Declared, error) {
	out := &Declared{}
	var order []string
	spaces := map[string]*declaredServer{}
	taken := map[string]int{}
	size := len(declarationsHeader) + len(fetchHeader)
	for _, tool := range tools {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		alias := tool.Server.Config.Alias
		space := spaces[alias]
		if space == nil {
			space = &declaredServer{ident: Identifier(alias)}
			spaces[alias] = space
			order = append(order, alias)
		}
		d := declareTool(tool, space.ident, taken)
		if size += len(d.types) + len(d.member); size > MaxFullDeclarations {
			out.Warnings = append(out.Warnings, fault.Warning{Code: WarningDeclarationsCut, Message: fmt.Sprintf(
				"Only %d of %d tools are declared. Use query to find the others.", out.Tools, len(tools))})
			break
		}
		space.types.WriteString(d.types)
		space.members.WriteString(d.member)
		out.Tools++
		if len(d.notes) > 0 {
			out.Warnings = append(out.Warnings, fault.Warning{Code: WarningSchemaSimplified, Message: fmt.Sprintf(
				"The types of %s are wider than its schema: %s.", tool.FullName, strings.Join(d.notes, "; "))})
		}
	}
	var b strings.Builder
	b.Grow(size + 64*len(order))
	b.WriteString(declarationsHeader)
	if settings.AllowFetch {
		b.WriteString(fetchHeader)
	}
	for _, alias := range order {
		spaces[alias].write(&b, alias)
	}
	if len(out.Warnings) > 0 && out.Warnings[len(out.Warnings)-1].Code == WarningDeclarationsCut {
		b.WriteString("\n// " + out.Warnings[len(out.Warnings)-1].Message + "\n")
	}
	out.Text = b.String()
	return out, nil
}

// DeclareOne returns the declaration of one tool, without the header.
func DeclareOne(tool *toolset.Tool) string {
	alias := tool.Server.Config.Alias
	space := &declaredServer{ident: Identifier(alias)}
	d := declareTool(tool, space.ident, map[string]int{})
	space.types.WriteString(d.types)
	space.members.WriteString(d.member)
	var b strings.Builder
	space.write(&b, alias)
	return strings.TrimSpace(b.String())
}

// EstimatedTokens returns about how many tokens of a model the declarations of
// tools take. It doesn't build them: declarations have about two thirds of
// the bytes of the definitions, and a token has about four bytes.
func EstimatedTokens(tools []*toolset.Tool) int {
	size := 0
	for _, tool := range tools {
		size += len(tool.Definition)
	}
	return (min(size*2/3, MaxFullDeclarations) + len(declarationsHeader)) / 4
}

// declaredServer builds the constant of one server.
type declaredServer struct {
	ident          string
	types, members strings.Builder
}

func (s *declaredServer) write(b *strings.Builder, alias string) {
	if s.members.Len() == 0 {
		return
	}
	b.WriteByte('\n')
	if alias == toolset.GatewayAlias {
		b.WriteString("// Recipes: saved code of this project.\n" + s.types.String() + "interface Gateway {\n" + s.members.String() + "}\n")
		return
	}
	if s.ident != alias {
		b.WriteString("// The server " + schema.Quote(alias) + ".\n")
	}
	b.WriteString(s.types.String())
	b.WriteString("declare const " + s.ident + ": {\n" + s.members.String() + "};\n")
}

// toolDeclaration is the declaration of one tool as a member of its namespace.
type toolDeclaration struct {
	types, member string
	args          string   // the parameter: "args: …" or "args?: …"
	notes         []string // why a type is wider than its schema
}

// declareTool returns the declaration of a tool. If its schema is invalid or
// exceeds the limits, the tool takes any object.
func declareTool(tool *toolset.Tool, ident string, taken map[string]int) toolDeclaration {
	definition, err := schema.Parse(tool.Definition)
	if err != nil || !definition.Is('{') {
		return plainTool(tool, "", err)
	}
	description := definition.StringOf("description")
	if description == "" {
		description = definition.StringOf("title")
	}
	w := newTypeWriter(ident+"__"+escapeIdentifier(schema.ClipBytes(tool.Local(), maxTypeName)), taken)
	args, optional := w.arguments(definition.Get("inputSchema"))
	result := w.result(definition.Get("outputSchema"))
	if w.nodes < 0 || w.count > maxNamedTypes {
		return plainTool(tool, description, schema.ErrTooLarge)
	}
	var types strings.Builder
	for _, t := range w.types {
		types.WriteString("type " + t.name + " = " + t.text + ";\n")
	}
	if types.Len()+len(args)+len(result) > MaxToolDeclaration {
		return plainTool(tool, description, schema.ErrTooLarge)
	}
	mark := ": "
	if optional {
		mark = "?: "
	}
	if tool.Recipe != nil {
		args = "input" + mark + args
		return toolDeclaration{types: types.String(), member: declareRecipe(tool.Local(), description, w.notes, args), args: args, notes: w.notes}
	}
	args = "args" + mark + args
	return toolDeclaration{types: types.String(), member: declareMember(tool.Local(), description, w.notes, args, result), args: args, notes: w.notes}
}

// plainTool returns the declaration of a tool from only its name and
// description.
func plainTool(tool *toolset.Tool, description string, err error) toolDeclaration {
	note := noteBroken
	if err != nil {
		note = "its schema is not usable"
	}
	if errors.Is(err, schema.ErrTooLarge) || errors.Is(err, schema.ErrTooDeep) {
		note = err.Error()
	}
	notes, args := []string{note}, "args?: Record<string, unknown>"
	if tool.Recipe != nil {
		args = "input?: Record<string, unknown>"
		return toolDeclaration{member: declareRecipe(tool.Local(), description, notes, args), args: args, notes: notes}
	}
	return toolDeclaration{member: declareMember(tool.Local(), description, notes, args, "any"), args: args, notes: notes}
}

// declareRecipe declares the call of a recipe as a signature of gateway.run.
func declareRecipe(name, description string, notes []string, args string) string {
	return declareSignature("run(recipe: "+schema.Quote(name)+", "+args+")", description, notes, "any")
}

func declareMember(name, description string, notes []string, args, result string) string {
	return declareSignature(schema.Quote(name)+"("+args+")", description, notes, result)
}

func declareSignature(signature, description string, notes []string, result string) string {
	text := schema.CleanText(description, maxToolText)
	if len(notes) > 0 {
		if text != "" {
			text += "\n"
		}
		text += "The types are wider than the schema: " + strings.Join(notes, "; ") + "."
	}
	var b strings.Builder
	writeDoc(&b, "  ", text)
	b.WriteString("  " + signature + ": Promise<" + result + ">;\n")
	return b.String()
}

// arguments returns the type of a tool's arguments and whether a call can omit
// them.
func (w *typeWriter) arguments(schema *schema.Node) (text string, optional bool) {
	if schema == nil || schema.Is('t') {
		return openObjectText, true
	}
	if !schema.Is('{') {
		w.note(noteBroken)
		return "Record<string, unknown>", true
	}
	w.begin(schema)
	t := w.typeOf(schema, typePosition{indent: "  "})
	if len(t.alternatives) == 0 || !schema.AdmitsObject() {
		w.note(noteBroken)
		return "Record<string, unknown>", true
	}
	return w.rootText(schema, t, openObjectText), w.admitsEmpty(schema, 0)
}

// result returns the type of a tool's result. Without an output schema it is
// any, so that code can use whatever it gets.
func (w *typeWriter) result(schema *schema.Node) string {
	if !schema.Is('{') {
		return "any"
	}
	w.begin(schema)
	t := w.typeOf(schema, typePosition{indent: "  "})
	if len(t.alternatives) == 0 {
		return "any"
	}
	return w.rootText(schema, t, "any")
}

// rootText returns the text of a whole schema's type. A type that refers to
// itself is named.
func (w *typeWriter) rootText(schema *schema.Node, t tsType, unknown string) string {
	switch named := w.named[schema]; {
	case named != nil:
		return named.name
	case t.isUnknown():
		return unknown
	}
	return t.String()
}

// admitsEmpty reports whether an object without members can be valid.
func (w *typeWriter) admitsEmpty(n *schema.Node, depth int) bool {
	if w.looks--; !n.Is('{') || depth > MaxSchemaDepth || w.looks < 0 {
		return !n.Is('f')
	}
	if len(n.StringsOf("required")) > 0 || n.Has("enum") || n.Has("const") {
		return false
	}
	if least, ok := n.CountOf("minProperties"); ok && least > 0 {
		return false
	}
	if ref := n.StringOf("$ref"); ref != "" {
		if target, _ := w.doc.Resolve(ref); target != nil && !w.admitsEmpty(target, depth+1) {
			return false
		}
	}
	for _, part := range n.ListOf("allOf") {
		if !w.admitsEmpty(part, depth+1) {
			return false
		}
	}
	for _, keyword := range [...]string{"anyOf", "oneOf"} {
		branches := n.ListOf(keyword)
		some := len(branches) == 0
		for _, branch := range branches {
			some = some || w.admitsEmpty(branch, depth+1)
		}
		if !some {
			return false
		}
	}
	return true
}

// takeName returns name, or name with a number if it is taken.
func takeName(taken map[string]int, name string) string {
	if taken[name] == 0 {
		taken[name] = 1
		return name
	}
	for {
		taken[name]++
		free := name + "_" + strconv.Itoa(taken[name])
		if taken[free] == 0 {
			taken[free] = 1
			return free
		}
	}
}

// bytesPerToken is the approximate number of bytes of declarations per token of
// a language model.
const bytesPerToken = 4

// SizeInTokens estimates the number of tokens of a text in the context of a
// language model: one per four bytes, rounded up. Models split text
// differently, so only the size is used.
func SizeInTokens(text string) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }
