//go:build conformance

package driver

import (
	"context"

	"mcpgateway/services/rawjson"
)

// methodNotFound is the error for other methods (JSON-RPC 2.0, "Error object").
const methodNotFound = `{"code":-32601,"message":"Method not found"}`

// respond responds to a server request like a user who accepts everything without
// changes.
func respond(_ context.Context, method string, params []byte) (result, rpcError []byte) {
	switch method {
	case "elicitation/create":
		return append(append([]byte(`{"action":"accept","content":`), filledForm(params)...), '}'), nil
	case "sampling/createMessage":
		return []byte(`{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"driver","stopReason":"endTurn"}`), nil
	case "roots/list":
		return []byte(`{"roots":[{"uri":"file:///srv/driver","name":"driver"}]}`), nil
	}
	return nil, []byte(methodNotFound)
}

// filledForm returns the content of an elicitation form: the default of each field,
// and a sample for required fields without a default (SEP-1034).
func filledForm(params []byte) []byte {
	o, err := rawjson.ParseObject(orEmpty(params), rawjson.Lenient)
	if err != nil {
		return []byte("{}")
	}
	return sampleObject(o.Object("requestedSchema"))
}

// sampleObject returns an object that matches the schema: the default of each
// property, and a sample for required properties without a default.
func sampleObject(schema *rawjson.Object) []byte {
	required := map[string]bool{}
	if names, err := rawjson.Elements(schema.Get("required"), rawjson.Lenient); err == nil {
		for _, raw := range names {
			if name, ok := rawjson.String(raw); ok {
				required[name] = true
			}
		}
	}
	out := []byte{'{'}
	properties := schema.Object("properties")
	for _, name := range properties.Names() {
		property := properties.Object(name)
		value := property.Get("default")
		if value == nil && required[name] {
			value = sample(property)
		}
		if value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendString(out, name), ':'), value...)
	}
	return append(out, '}')
}

// sample returns a value that matches a simple schema. It doesn't follow references;
// it returns a string for them.
func sample(schema *rawjson.Object) []byte {
	if value := schema.Get("const"); value != nil {
		return value
	}
	if values, err := rawjson.Elements(schema.Get("enum"), rawjson.Lenient); err == nil && len(values) > 0 {
		return values[0]
	}
	switch kind, _ := schema.String("type"); kind {
	case "integer", "number":
		return []byte("7")
	case "boolean":
		return []byte("true")
	case "array":
		return []byte("[]")
	case "object":
		return []byte("{}")
	case "null":
		return []byte("null")
	}
	return []byte(`"sample"`)
}
