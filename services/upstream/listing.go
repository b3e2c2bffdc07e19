package upstream

import (
	"context"
	"fmt"
	"strconv"

	"mcpgateway/services/rawjson"
)

// ListTools returns the raw tool definitions of an upstream in its order, what
// it says of itself, and warnings about tools that were left out: what is not
// an object with a name, names that come twice, tools that can only run as
// tasks, tools with header annotations that revision 2026-07-28 forbids, and
// what lies beyond 5,000 tools, 500 pages or 32 MiB. All pages together take
// at most the target's time-out. Faults are those of Call; an upstream without
// tools returns none.
func (p *Pool) ListTools(ctx context.Context, t *Target) ([][]byte, *Description, []string, error) {
	l := toolLister{names: map[string]bool{}, cursors: map[string]bool{}}
	err := p.with(ctx, t, func(ctx context.Context, s *server) error {
		s.expireDescription(maxDescriptionAge)
		return l.list(ctx, p, s, t)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return l.tools, l.about, l.warnings, nil
}

// toolLister gathers the pages of one tools/list.
type toolLister struct {
	tools    [][]byte
	about    *Description
	warnings []string

	names   map[string]bool
	cursors map[string]bool
	size    int
	seen    int // tools looked at, for messages
}

func (l *toolLister) list(ctx context.Context, p *Pool, s *server, t *Target) error {
	var params []byte
	for page := 1; ; page++ {
		r, ss, err := p.call(ctx, s, t, own(), &Request{Method: "tools/list", Params: params})
		if err != nil {
			return err
		}
		l.about = ss.about
		if r.Error != nil {
			if page == 1 && errorCode(r.Error) == CodeMethodNotFound {
				return nil // it has no tools
			}
			return ss.place.invalid("failed to list its tools: %s", errorText(r.Error))
		}
		o, err := rawjson.ParseObject(r.Result, rawjson.Lenient)
		if err != nil {
			return ss.place.invalid("sent a list of tools that is not JSON").Because(err)
		}
		elements, err := rawjson.Elements(o.Get("tools"), rawjson.Lenient)
		if err != nil {
			return ss.place.invalid("sent no list of tools: %s", excerpt(r.Result)).Because(err)
		}
		full := l.add(elements, r.Stateless)
		cursor, ok := nextCursor(o, r.Stateless)
		switch {
		case !ok || full:
			return nil
		case l.cursors[cursor]:
			l.warn("the list of tools repeats itself and was cut off after page %d", page)
			return nil
		case page == maxToolPages:
			l.warn("the list of tools has more than %d pages; the rest was left out", maxToolPages)
			return nil
		}
		l.cursors[cursor] = true
		params = append(rawjson.AppendString([]byte(`{"cursor":`), cursor), '}')
	}
}

// nextCursor returns the cursor of the next page. The empty string is a cursor
// in revision 2026-07-28; before, upstreams use it for the end.
func nextCursor(o *rawjson.Object, stateless bool) (string, bool) {
	cursor, ok := o.String("nextCursor")
	return cursor, ok && (cursor != "" || stateless)
}

// add takes a page in. It reports whether the list is as long as it may be.
func (l *toolLister) add(elements [][]byte, stateless bool) (full bool) {
	for _, raw := range elements {
		l.seen++
		name, problem := l.check(raw, stateless)
		if problem != "" {
			l.warn("%s was left out: %s", name, problem)
			continue
		}
		if len(l.tools) == maxTools {
			l.warn("there are more than %d tools; the rest was left out", maxTools)
			return true
		}
		if l.size += len(raw); l.size > maxListBytes {
			l.warn("the definitions of the tools take more than %d MiB; the rest was left out", maxListBytes>>20)
			return true
		}
		l.tools = append(l.tools, raw)
	}
	return false
}

// check returns how to name a tool in a warning, and why it cannot be offered.
func (l *toolLister) check(raw []byte, stateless bool) (name, problem string) {
	name = "tool " + strconv.Itoa(l.seen)
	if rawjson.Kind(raw) != '{' {
		return name, "it is not an object"
	}
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil {
		return name, "it is not JSON"
	}
	own, ok := o.String("name")
	if !ok || own == "" {
		return name, "it has no name"
	}
	name = "tool " + strconv.Quote(excerpt([]byte(own)))
	if l.names[own] {
		return name, "another tool has the same name"
	}
	if support, _ := o.Object("execution").String("taskSupport"); support == "required" {
		return name, "it can only run as a task, which the gateway does not offer"
	}
	if stateless {
		if _, err := ParseParamHeaders(raw); err != nil {
			return name, err.Error()
		}
	}
	l.names[own] = true
	return name, ""
}

func (l *toolLister) warn(format string, args ...any) {
	switch len(l.warnings) {
	case maxWarnings:
	case maxWarnings - 1:
		l.warnings = append(l.warnings, "there are further warnings, which are not shown")
	default:
		l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
	}
}
