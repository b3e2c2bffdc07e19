package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"mcpgateway/services/rawjson"
	"mcpgateway/services/schema"
	"mcpgateway/services/upstream/wire"
)

// paramHeader is an annotation: the argument at path is repeated in a header.
type paramHeader struct {
	path   []string
	header string
	kind   string // "string", "integer" or "boolean"
}

// ParamHeaders are the `x-mcp-header` annotations of one tool: arguments that a
// client repeats in Mcp-Param-* headers (MCP 2026-07-28, SEP-2243). The zero
// value has none. It is immutable.
type ParamHeaders []paramHeader

// maxSchemaDepth is the maximum depth of a schema with header annotations.
const maxSchemaDepth = 64

// annotation is the schema keyword of a header annotation.
const annotation = "x-mcp-header"

// ParseParamHeaders returns the annotations of a raw tool definition. It
// returns an error if they are invalid; such a tool must not be offered
// (SEP-2243).
func ParseParamHeaders(tool []byte) (ParamHeaders, error) {
	if !bytes.Contains(tool, []byte(annotation)) && !bytes.Contains(tool, []byte(`\u`)) {
		return nil, nil
	}
	o, err := rawjson.ParseObject(tool, rawjson.Lenient)
	if err != nil {
		return nil, err
	}
	raw := o.Get("inputSchema")
	if rawjson.Kind(raw) != '{' || !bytes.Contains(raw, []byte(annotation)) && !bytes.Contains(raw, []byte(`\u`)) {
		return nil, nil
	}
	if rawjson.CheckDepth(raw, maxSchemaDepth) != nil {
		return nil, fmt.Errorf("schema is nested deeper than %d levels", maxSchemaDepth)
	}
	root, err := schema.ParseValue(raw, len(raw))
	if err != nil {
		return nil, err
	}
	c := headerCollector{seen: map[string]bool{}}
	if err := c.schema(root, nil, true); err != nil {
		return nil, err
	}
	return c.found, nil
}

// headerCollector collects the annotations of a schema.
type headerCollector struct {
	found ParamHeaders
	seen  map[string]bool // header names in lower case
}

// schema collects the annotations of one schema. A client can find a value in
// the arguments only through a chain of "properties". reachable reports whether
// the schema is on such a chain.
func (c *headerCollector) schema(n *schema.Node, path []string, reachable bool) error {
	if value := n.Get(annotation); value != nil {
		if err := c.add(n, value, path, reachable); err != nil {
			return err
		}
	}
	for _, m := range n.Members {
		var err error
		switch m.Name {
		case annotation, "const", "default", "enum", "example", "examples": // values, not schemas
		case "properties":
			err = c.properties(m.Value, path, reachable)
		case "patternProperties", "$defs", "definitions", "dependentSchemas":
			err = c.properties(m.Value, path, false)
		default: // a keyword such as items or anyOf
			err = c.schema(m.Value, path, false)
			for i := 0; i < len(m.Value.Items) && err == nil; i++ {
				err = c.schema(m.Value.Items[i], path, false)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// properties collects the annotations of an object that maps names to schemas.
func (c *headerCollector) properties(n *schema.Node, path []string, reachable bool) error {
	for _, m := range n.Members {
		if err := c.schema(m.Value, append(path[:len(path):len(path)], m.Name), reachable); err != nil {
			return err
		}
	}
	return nil
}

func (c *headerCollector) add(n, value *schema.Node, path []string, reachable bool) error {
	where := strconv.Quote(wire.Excerpt([]byte(strings.Join(path, "."))))
	name := value.Text
	if !value.Is('"') || name == "" || len(name) > wire.MaxTokenBytes {
		return fmt.Errorf("%s of property %s is not a valid name", annotation, where)
	}
	for i := range len(name) {
		if !isTokenChar(name[i]) {
			return fmt.Errorf("%s of property %s contains a character that is invalid in header names", annotation, where)
		}
	}
	kind := n.StringOf("type")
	if kind != "string" && kind != "integer" && kind != "boolean" {
		return fmt.Errorf("%s of property %s requires type string, integer or boolean", annotation, where)
	}
	if !reachable || len(path) == 0 {
		return errors.New(annotation + " applies to no argument")
	}
	lower := strings.ToLower(name)
	if c.seen[lower] {
		return fmt.Errorf("duplicate %s %q", annotation, name)
	}
	c.seen[lower] = true
	c.found = append(c.found, paramHeader{path: path, header: http.CanonicalHeaderKey(wire.HeaderParam + name), kind: kind})
	return nil
}

// isTokenChar reports whether c is allowed in a header name (RFC 9110, section
// 5.6.2).
func isTokenChar(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// Set adds the headers for the arguments of a request. An argument that is
// absent, null or not of the annotated type has no header.
func (p ParamHeaders) Set(h http.Header, r *Request) {
	if len(p) == 0 {
		return
	}
	o, err := rawjson.ParseObject(r.RawParams(), rawjson.Lenient)
	if err != nil {
		return
	}
	arguments := o.Object("arguments")
	for i := range p {
		if value, ok := p[i].argument(arguments); ok {
			h[p[i].header] = []string{wire.HeaderValue(value)}
		}
	}
}

// value returns the text of an argument for its header.
func (p *paramHeader) value(raw []byte) (string, bool) {
	raw = bytes.TrimSpace(raw)
	switch p.kind {
	case "string":
		return rawjson.String(raw)
	case "boolean":
		return string(raw), string(raw) == "true" || string(raw) == "false"
	default:
		return integer(raw)
	}
}

// integer returns the decimal digits of a JSON number with an integer value
// below 2^53, such as 1.0 or 1e3. Every JSON parser represents these exactly.
func integer(raw []byte) (string, bool) {
	if !rawjson.IsNumber(raw) {
		return "", false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != float64(int64(f)) || f >= 1<<53 || f <= -1<<53 {
		return "", false
	}
	return strconv.FormatInt(int64(f), 10), true
}

// Disagreement returns how the headers of a tools/call differ from its
// arguments, or "" if every annotated argument is repeated exactly. header
// returns the decoded value of a header and whether it is present.
func (p ParamHeaders) Disagreement(header func(name string) (string, bool), params *rawjson.Object) string {
	if len(p) == 0 {
		return ""
	}
	arguments := params.Object("arguments")
	for i := range p {
		want, given := p[i].argument(arguments)
		got, sent := header(p[i].header)
		switch {
		case given && !sent:
			return "Header " + p[i].header + " is missing or invalid."
		case !given && sent:
			return "Header " + p[i].header + " has no argument."
		case given && !p[i].same(got, want):
			return "Header " + p[i].header + " differs from its argument."
		}
	}
	return ""
}

// argument returns the text of the annotated argument. The result is false if
// the argument is absent or has no header form.
func (p *paramHeader) argument(arguments *rawjson.Object) (string, bool) {
	at := arguments
	for _, name := range p.path[:len(p.path)-1] {
		at = at.Object(name)
	}
	return p.value(at.Get(p.path[len(p.path)-1]))
}

// same compares a header with its argument: integers by value, others by text.
func (p *paramHeader) same(header, argument string) bool {
	if p.kind == "integer" {
		digits, ok := integer([]byte(header))
		return ok && digits == argument
	}
	return header == argument
}
