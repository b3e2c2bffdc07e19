package toolset

import (
	"fmt"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/schema"
)

// Inspection is the result of checking a tool definition. Some client libraries
// reject a whole list because of one invalid definition. Definitions are
// therefore repaired if that doesn't change their meaning; otherwise only that
// tool is hidden.
type Inspection struct {
	Definition []byte   // repaired; the same bytes if nothing was repaired
	Repairs    []string // descriptions of the repairs
	Broken     string   // why the tool can't be listed; empty if it can
}

// Inspect returns the listed form of a raw tool definition (MCP 2025-11-25,
// "Tool"): its inputSchema is an object schema, its members have the right
// types, and it has no external references. Everything else keeps its bytes.
func Inspect(raw []byte) Inspection {
	definition, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return Inspection{Definition: raw, Broken: "its definition is not a JSON object"}
	}
	i := &inspector{}
	i.text(definition, "title")
	i.text(definition, "description")
	i.members(definition)
	i.annotations(definition)
	i.inputSchema(definition)
	i.outputSchema(definition)
	return Inspection{Definition: definition.Bytes(), Repairs: i.repairs, Broken: i.broken}
}

// DefinitionProblems returns descriptions of the repairs of a raw tool
// definition, or of the reason for which it is hidden.
func DefinitionProblems(raw []byte) []string {
	i := Inspect(raw)
	if i.Broken != "" {
		return []string{"it is " + string(HiddenAsBroken) + ": " + i.Broken}
	}
	return i.Repairs
}

type inspector struct {
	repairs []string
	broken  string
}

func (i *inspector) repaired(format string, args ...any) {
	i.repairs = append(i.repairs, fmt.Sprintf(format, args...))
}

func (i *inspector) breakWith(format string, args ...any) {
	if i.broken == "" {
		i.broken = fmt.Sprintf(format, args...)
	}
}

// text removes a member that must be a string and isn't.
func (i *inspector) text(o *rawjson.Object, name string) {
	if raw := o.Get(name); raw != nil && rawjson.Kind(raw) != '"' {
		o.Delete(name)
		i.repaired("%s was removed: not a string", name)
	}
}

// members removes members that must be objects or lists and aren't.
func (i *inspector) members(definition *rawjson.Object) {
	for _, member := range []struct {
		name string
		kind byte
	}{{"_meta", '{'}, {"annotations", '{'}, {"execution", '{'}, {"icons", '['}} {
		if raw := definition.Get(member.name); raw != nil && rawjson.Kind(raw) != member.kind {
			definition.Delete(member.name)
			i.repaired("%s was removed: wrong type", member.name)
		}
	}
}

func (i *inspector) annotations(definition *rawjson.Object) {
	annotations := definition.Object("annotations")
	if annotations == nil {
		return
	}
	before := len(i.repairs)
	i.text(annotations, "title")
	for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
		if kind := rawjson.Kind(annotations.Get(hint)); kind != 0 && kind != 't' && kind != 'f' {
			annotations.Delete(hint)
			i.repaired("the annotation %s was removed: not a boolean", hint)
		}
	}
	if len(i.repairs) > before {
		definition.Set("annotations", annotations.Bytes())
	}
}

func (i *inspector) inputSchema(definition *rawjson.Object) {
	raw := definition.Get("inputSchema")
	switch kind := rawjson.Kind(raw); {
	case raw == nil || kind == 'n' || kind == 't':
		definition.Set("inputSchema", []byte(`{"type":"object"}`))
		i.repaired("inputSchema was missing: any arguments are allowed")
		return
	case kind != '{':
		i.breakWith("its inputSchema is not an object")
		return
	}
	schema, before := definition.Object("inputSchema"), len(i.repairs)
	i.objectType(schema)
	i.properties(schema)
	i.required(schema)
	i.references(raw)
	if len(i.repairs) > before {
		definition.Set("inputSchema", schema.Bytes())
	}
}

// objectType sets the type of an input schema to "object".
func (i *inspector) objectType(schema *rawjson.Object) {
	raw := schema.Get("type")
	switch rawjson.Kind(raw) {
	case '"':
		if typ, _ := rawjson.String(raw); typ != "object" {
			i.breakWith("its inputSchema has type %s, but arguments are an object", clip(typ, 32))
		}
		return
	case '[':
		types, err := rawjson.Elements(raw, rawjson.Lenient)
		for _, element := range types {
			if typ, _ := rawjson.String(element); err == nil && typ == "object" {
				schema.Set("type", []byte(`"object"`))
				i.repaired("the type of inputSchema was narrowed to object")
				return
			}
		}
		i.breakWith("its inputSchema doesn't allow objects")
	default:
		schema.Set("type", []byte(`"object"`))
		i.repaired("inputSchema had no type: set to object")
	}
}

// properties converts the properties to an object of object schemas.
func (i *inspector) properties(schema *rawjson.Object) {
	raw := schema.Get("properties")
	switch rawjson.Kind(raw) {
	case 0:
		return
	case '{':
	case '[':
		// Languages with a single map type encode an empty map like this.
		if elements, err := rawjson.Elements(raw, rawjson.Lenient); err != nil || len(elements) > 0 {
			i.breakWith("the properties of its inputSchema are a list")
			return
		}
		fallthrough
	default:
		if kind := rawjson.Kind(raw); kind != '[' && kind != 'n' {
			i.breakWith("the properties of its inputSchema are not an object")
			return
		}
		schema.Set("properties", []byte("{}"))
		i.repaired("the properties of inputSchema were empty and not an object")
		return
	}
	properties, changed := schema.Object("properties"), false
	for _, name := range properties.Names() {
		var object string
		switch rawjson.Kind(properties.Get(name)) {
		case '{':
			continue
		case 't', 'n':
			object = "{}"
		case 'f':
			object = `{"not":{}}`
		default:
			i.breakWith("the property %q of its inputSchema is not a schema", clip(name, 64))
			return
		}
		properties.Set(name, []byte(object))
		changed = true
		i.repaired("the property %q was written as an object schema", clip(name, 64))
	}
	if changed {
		schema.Set("properties", properties.Bytes())
	}
}

// required removes required unless it is a list of names.
func (i *inspector) required(schema *rawjson.Object) {
	raw := schema.Get("required")
	if raw == nil {
		return
	}
	if names, err := rawjson.Elements(raw, rawjson.Lenient); err == nil {
		texts := true
		for _, name := range names {
			texts = texts && rawjson.Kind(name) == '"'
		}
		if texts {
			return
		}
	}
	schema.Delete("required")
	i.repaired("required was removed: not a list of names")
}

func (i *inspector) outputSchema(definition *rawjson.Object) {
	raw := definition.Get("outputSchema")
	switch rawjson.Kind(raw) {
	case 0, 't', 'f':
	case '{':
		if schema.ExternalRef(raw) != "" {
			definition.Delete("outputSchema")
			i.repaired("outputSchema was removed: it has an external reference")
		}
	default:
		definition.Delete("outputSchema")
		i.repaired("outputSchema was removed: not a schema")
	}
}

// references rejects a schema that its reader would have to fetch (MCP
// 2026-07-28, "Security Considerations" of JSON Schema).
func (i *inspector) references(raw []byte) {
	if ref := schema.ExternalRef(raw); ref != "" {
		i.breakWith("its inputSchema refers to %s: nothing outside of the definition is fetched", clip(ref, 100))
	}
}
