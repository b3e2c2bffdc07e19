package tools

import (
	"bytes"
	"encoding/json"
	"slices"

	"mcpgateway/routes/admin"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/tools"
	"mcpgateway/views/ui"
)

// Limits of a shown definition.
const (
	contextLines  = 3      // unchanged lines around changes
	maxShownLines = 400    // of the changes of a section
	maxShownJSON  = 32_000 // bytes of a value
)

// reviewedTool returns a definition by its parts. With schema, the parameters are
// shown in full instead of their changes.
func reviewedTool(t *toolset.Tool, schema bool) *views.ReviewedTool {
	row := admin.ToolRow(t)
	out := &views.ReviewedTool{
		Name: t.FullName, Listed: t.Name, Hash: t.Hash, ReadOnly: t.Access == toolset.AccessRead, Destructive: t.Access == toolset.AccessDestructive,
		Changed: t.Previous != nil, ChangedAt: t.ChangedAt, Hidden: row.Hidden,
	}
	now, err := rawjson.ParseObject(t.Raw, rawjson.Lenient)
	if err != nil {
		return out // a sync stores valid objects only
	}
	before := &rawjson.Object{}
	if t.Previous != nil {
		if parsed, err := rawjson.ParseObject(t.Previous, rawjson.Lenient); err == nil {
			before = parsed
		}
		out.Warning = warningOf(toolset.AccessOf(t.Previous), toolset.AccessOf(t.Raw), before, now)
	}
	d := definition{before: before, now: now, isNew: t.Previous == nil}
	out.Sections = append(out.Sections, d.description(), d.parameters(schema))
	if s, ok := d.value("Annotations", "annotations"); ok {
		out.Sections = append(out.Sections, s)
	}
	if s, ok := d.value("Result", "outputSchema"); ok {
		out.Sections = append(out.Sections, s)
	}
	if s, ok := d.others(); ok {
		out.Sections = append(out.Sections, s)
	}
	return out
}

// definition is a definition with the one that it replaces.
type definition struct {
	before, now *rawjson.Object
	isNew       bool
}

// description returns the section of the description.
func (d definition) description() views.Section {
	before, _ := d.before.String("description")
	now, _ := d.now.String("description")
	s := views.Section{Title: "Description", Text: ui.Clean(now), Unchanged: !d.isNew}
	if now == "" {
		s.Text = "No description."
	}
	if !d.isNew && before != now {
		lines, _ := toolset.DiffTexts(before, now)
		s.Changes, s.Unchanged = shownLines(lines), false
	}
	return s
}

// parameters returns the section of the input schema.
func (d definition) parameters(full bool) views.Section {
	raw := d.now.Get("inputSchema")
	s := views.Section{Title: "Parameters", Nodes: ui.SchemaNodes(raw), Text: "None", Unchanged: !d.isNew}
	if d.isNew || bytes.Equal(d.before.Get("inputSchema"), raw) {
		return s
	}
	s.Switch, s.Unchanged = true, false
	if full {
		s.Nodes, s.Code = nil, indented(raw)
		return s
	}
	lines, _ := toolset.DiffDefinitions(d.before.Get("inputSchema"), raw)
	s.Changes = shownLines(lines)
	return s
}

// value returns the section of a member, if the definition has it or had it.
func (d definition) value(title, member string) (views.Section, bool) {
	return d.section(title, d.before.Get(member), d.now.Get(member))
}

// others returns the section of all other members.
func (d definition) others() (views.Section, bool) {
	rest := func(o *rawjson.Object) []byte {
		o = ptr(o.Clone())
		for _, member := range []string{"name", "description", "inputSchema", "annotations", "outputSchema"} {
			o.Delete(member)
		}
		if o.Len() == 0 {
			return nil
		}
		return o.Bytes()
	}
	return d.section("Other", rest(d.before), rest(d.now))
}

func (d definition) section(title string, before, now []byte) (views.Section, bool) {
	s := views.Section{Title: title, Code: indented(now), Text: "None", Unchanged: !d.isNew}
	if !d.isNew && !bytes.Equal(before, now) {
		lines, _ := toolset.DiffDefinitions(before, now)
		s.Changes, s.Unchanged = shownLines(lines), false
	}
	return s, len(before)+len(now) > 0
}

func ptr[T any](v T) *T { return &v }

// indented returns a JSON value for display.
func indented(raw []byte) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Indent(&b, raw, "", "  ") != nil {
		return ""
	}
	return ui.Beginning(ui.Clean(b.String()), maxShownJSON)
}

// shownLines returns the changed lines with some lines around them.
func shownLines(lines []toolset.DiffLine) []ui.DiffLine {
	all := make([]ui.DiffLine, 0, len(lines))
	for _, l := range lines {
		all = append(all, ui.DiffLine{Op: l.Op, Text: l.Text})
	}
	all = ui.Hunks(all, contextLines)
	return all[:min(len(all), maxShownLines)]
}

// warningOf describes what a changed tool may do now, or returns nil unless it may
// do more than before.
func warningOf(was, is toolset.Access, before, now *rawjson.Object) *views.Warning {
	order := []toolset.Access{toolset.AccessRead, toolset.AccessWrite, toolset.AccessDestructive}
	if slices.Index(order, is) <= slices.Index(order, was) {
		return nil
	}
	w := &views.Warning{Title: "It may now change data."}
	if is == toolset.AccessDestructive {
		w.Title = "It may now delete."
	}
	var parts [][]views.Words
	for _, hint := range []string{"readOnlyHint", "destructiveHint"} {
		from, to := hintWord(before, hint), hintWord(now, hint)
		if from != to {
			parts = append(parts, []views.Words{{Text: hint, Code: true}, {Text: " went from " + from + " to " + to}})
		}
	}
	if added := addedParameters(before, now); len(added) > 0 {
		parts = append(parts, parameterWords(added))
	}
	for i, part := range parts {
		switch {
		case i == 0:
			w.Text = append(w.Text, views.Words{Text: " "})
		case i == len(parts)-1:
			w.Text = append(w.Text, views.Words{Text: ", and "})
		default:
			w.Text = append(w.Text, views.Words{Text: ", "})
		}
		w.Text = append(w.Text, part...)
	}
	w.Text = append(w.Text, views.Words{Text: "."})
	return w
}

// hintWord returns the value of an annotation.
func hintWord(definition *rawjson.Object, hint string) string {
	switch rawjson.Kind(definition.Object("annotations").Get(hint)) {
	case 't':
		return "true"
	case 'f':
		return "false"
	}
	return "not set"
}

func addedParameters(before, now *rawjson.Object) []string {
	names := func(o *rawjson.Object) []string { return o.Object("inputSchema").Object("properties").Names() }
	had := names(before)
	return slices.DeleteFunc(names(now), func(name string) bool { return slices.Contains(had, name) })
}

// maxNamedParameters is the number of parameters in a warning.
const maxNamedParameters = 3

func parameterWords(added []string) []views.Words {
	if len(added) == 1 {
		return []views.Words{{Text: "a parameter "}, {Text: ui.Beginning(added[0], 64), Code: true}, {Text: " was added"}}
	}
	words := []views.Words{{Text: "the parameters "}}
	for i, name := range added[:min(len(added), maxNamedParameters)] {
		if i > 0 {
			words = append(words, views.Words{Text: ", "})
		}
		words = append(words, views.Words{Text: ui.Beginning(name, 64), Code: true})
	}
	if more := len(added) - maxNamedParameters; more > 0 {
		words = append(words, views.Words{Text: " and " + ui.Count(more) + " more"})
	}
	return append(words, views.Words{Text: " were added"})
}
