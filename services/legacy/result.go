package legacy

import (
	"bytes"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/wire"
)

// Output is the form of structured content that a client expects.
type Output uint8

// The forms of structured content.
const (
	OutputObject   Output = iota // an object, because the tool has no other schema
	OutputWrapped                // the member result of an object, by WrapSchema
	OutputOriginal               // any value, by the server's own schema
)

// Result returns the result of a server for a client with a handshake. Results of
// a server with a handshake differ only in wrapped structured content. It returns
// UPSTREAM_INVALID_RESPONSE for a result that such clients don't have.
func Result(r *upstream.Response, output Output) ([]byte, error) {
	wraps := output == OutputWrapped
	if !r.Stateless && !(wraps && bytes.Contains(r.Result, []byte(`"structuredContent"`))) && !bytes.Contains(r.Result, []byte("null")) {
		return r.Result, nil
	}
	o, err := rawjson.ParseObject(r.Result, rawjson.Lenient)
	if err != nil {
		return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The upstream server returned invalid JSON.").Because(err)
	}
	if r.Stateless {
		if typ := o.Get("resultType"); typ != nil && !rawjson.EqualString(typ, "complete") {
			return nil, fault.Upstream(fault.CodeUpstreamInvalidResponse, "The tool requires more input, which this client can't provide. Use a client that supports elicitation.")
		}
		withoutMetadata(o)
		convertContent(o)
	}
	if rawjson.Kind(o.Get("_meta")) == 'n' {
		o.Delete("_meta")
	}
	value := o.Get("structuredContent")
	kind := rawjson.Kind(value)
	switch {
	case value == nil:
	case wraps && (r.Stateless || kind != 'n'), output == OutputObject && r.Stateless && kind != '{' && kind != 'n':
		wrap(o, value)
	case kind == 'n': // absent, as clients reject null
		o.Delete("structuredContent")
	}
	return o.Bytes(), nil
}

// withoutMetadata removes the members that only revision 2026-07-28 has.
func withoutMetadata(o *rawjson.Object) {
	for _, name := range []string{"resultType", "ttlMs", "cacheScope"} {
		o.Delete(name)
	}
	meta := o.Object("_meta")
	if meta.Get(wire.MetaServerInfo) == nil {
		return
	}
	meta.Delete(wire.MetaServerInfo)
	if meta.Len() == 0 {
		o.Delete("_meta")
		return
	}
	o.Set("_meta", meta.Bytes())
}

// wrap sets the structured content to an object with the value as result. An
// empty content becomes the text of the value.
func wrap(o *rawjson.Object, value []byte) {
	o.Set("structuredContent", append(append([]byte(`{"result":`), value...), '}'))
	if content, err := rawjson.Elements(o.Get("content"), rawjson.Lenient); err != nil || len(content) == 0 {
		o.Set("content", append(append([]byte{'['}, textBlock(value)...), ']'))
	}
}

// convertContent converts content blocks of unknown types to text, because
// clients reject them.
func convertContent(o *rawjson.Object) {
	content, err := rawjson.Elements(o.Get("content"), rawjson.Lenient)
	if err != nil {
		return
	}
	changed := false
	for i, block := range content {
		if !isKnown(block) {
			content[i], changed = textBlock(block), true
		}
	}
	if changed {
		o.Set("content", append(append([]byte{'['}, bytes.Join(content, []byte{','})...), ']'))
	}
}

func isKnown(block []byte) bool {
	o, err := rawjson.ParseObject(block, rawjson.Lenient)
	if err != nil {
		return false
	}
	switch typ, _ := o.String("type"); typ {
	case "text", "image", "audio", "resource", "resource_link":
		return true
	default:
		return false
	}
}

// textBlock returns a text content block that contains raw JSON.
func textBlock(raw []byte) []byte {
	return append(append([]byte(`{"type":"text","text":`), rawjson.Quote(string(raw))...), '}')
}
