package upstreamtest

import (
	"encoding/base64"
	"math"
	"strconv"
	"sync/atomic"

	"mcpgateway/services/rawjson"
)

// toolTable is an immutable list of tools with its encoded pages.
type toolTable struct {
	list    []Tool
	byName  map[string]*toolEntry
	pages   []page
	cursors map[string]int // cursor -> index of its page
	endless atomic.Int64   // pages returned by EndlessPages
	tasks   bool           // a tool has a Task
}

type toolEntry struct {
	call         Handler
	params       []paramHeader
	task         Work
	requiresTask bool
}

// page contains the members of a tools/list result: "tools" and, except on the
// last page, "nextCursor".
type page []byte

// paramHeader is an argument that must be repeated in an Mcp-Param- header.
type paramHeader struct {
	path   []string
	header string
}

func newToolTable(list []Tool, size int) *toolTable {
	t := &toolTable{list: list, byName: make(map[string]*toolEntry, len(list)), cursors: map[string]int{}}
	for i := range list {
		o, err := rawjson.ParseObject([]byte(list[i].Definition), rawjson.Lenient)
		if err != nil {
			continue // an invalid definition is listed but can't be called
		}
		name, ok := o.String("name")
		if !ok || t.byName[name] != nil {
			continue
		}
		t.byName[name] = &toolEntry{call: list[i].Call, params: paramHeaders(o.Object("inputSchema"), nil, nil), task: list[i].Task}
		support, _ := o.Object("execution").String("taskSupport")
		t.byName[name].requiresTask = support == "required"
		t.tasks = t.tasks || list[i].Task != nil
	}
	if size <= 0 {
		size = max(len(list), 1)
	}
	for from := 0; from == 0 || from < len(list); from += size {
		to := min(from+size, len(list))
		p := []byte(`"tools":[`)
		for i, tool := range list[from:to] {
			if i > 0 {
				p = append(p, ',')
			}
			p = append(p, tool.Definition...)
		}
		p = append(p, ']')
		if to < len(list) {
			cursor := base64.RawURLEncoding.EncodeToString([]byte("after " + strconv.Itoa(to) + " of " + strconv.Itoa(len(list)) + " by " + strconv.Itoa(size)))
			t.cursors[cursor] = len(t.pages) + 1
			p = append(p, `,"nextCursor":"`+cursor+`"`...)
		}
		t.pages = append(t.pages, p)
	}
	return t
}

// page returns the page requested by params, modified by a paging fault. It
// returns false for an unknown cursor.
func (t *toolTable) page(params *rawjson.Object, hit *Fault, stateless bool) (page, bool) {
	switch {
	case hit.is(EndlessPages):
		n := strconv.FormatInt(t.endless.Add(1), 10)
		return page(`"tools":[{"name":"endless_` + n + `","inputSchema":{"type":"object"}}],"nextCursor":"endless-` + n + `"`), true
	case hit.is(RepeatedCursor):
		return page(`"tools":[{"name":"repeated","inputSchema":{"type":"object"}}],"nextCursor":"again"`), true
	}
	raw := params.Get("cursor")
	if raw == nil {
		return t.pages[0], true
	}
	cursor, ok := rawjson.String(raw)
	if ok && cursor == "" && !stateless { // only the stateless era treats the empty string as a cursor
		return t.pages[0], true
	}
	i, known := t.cursors[cursor]
	if !ok || !known {
		return nil, false
	}
	return t.pages[i], true
}

// paramHeaders returns the x-mcp-header annotations of schema (2026-07-28,
// SEP-2243) on properties of a primitive type.
func paramHeaders(schema *rawjson.Object, path []string, out []paramHeader) []paramHeader {
	props := schema.Object("properties")
	for _, name := range props.Names() {
		p := props.Object(name)
		here := append(path[:len(path):len(path)], name)
		if header, ok := p.String("x-mcp-header"); ok && header != "" {
			switch kind, _ := p.String("type"); kind {
			case "string", "integer", "boolean":
				out = append(out, paramHeader{path: here, header: "Mcp-Param-" + header})
			}
		}
		out = paramHeaders(p, here, out)
	}
	return out
}

// matches reports whether the header value equals the argument: absent for an
// absent or null argument, otherwise the same string, boolean or integer.
func (p paramHeader) matches(value string, arguments []byte) bool {
	raw := arguments
	for _, name := range p.path {
		if rawjson.Kind(raw) != '{' {
			raw = nil
			break
		}
		o, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			return false
		}
		raw = o.Get(name)
	}
	if raw == nil || string(raw) == "null" {
		return value == ""
	}
	value, ok := decodeHeader(value)
	if !ok {
		return false
	}
	if s, isString := rawjson.String(raw); isString {
		return s == value
	}
	if rawjson.IsNumber(raw) {
		a, errA := strconv.ParseFloat(string(raw), 64)
		b, errB := strconv.ParseFloat(value, 64)
		return errA == nil && errB == nil && a == b && a == math.Trunc(a) && math.Abs(a) < 1<<53
	}
	return string(raw) == value
}

// decodeHeader returns the text of a header value, which may be encoded as
// =?base64?…?= (2026-07-28, transports).
func decodeHeader(v string) (string, bool) {
	const prefix, suffix = "=?base64?", "?="
	if len(v) < len(prefix)+len(suffix) || v[:len(prefix)] != prefix || v[len(v)-len(suffix):] != suffix {
		return v, true
	}
	b, err := base64.StdEncoding.DecodeString(v[len(prefix) : len(v)-len(suffix)])
	return string(b), err == nil
}
