package projects

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"maps"

	"mcpgateway/services/nearest"
	"mcpgateway/services/rawjson"
)

// reader walks raw JSON by tables of field readers and collects every problem
// under its path, so that a file is mended in one go.
type reader struct{ problems map[string]string }

type fieldReader = func(path string, raw []byte)
type fieldReaders map[string]fieldReader

func (r *reader) problem(path, why string) {
	if _, reported := r.problems[path]; !reported {
		r.problems[path] = why
	}
}

func (r *reader) object(path string, raw []byte, readers fieldReaders) {
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		r.problem(path, "use an object")
		return
	}
	r.fields(path, o, readers)
}

func (r *reader) fields(path string, o *rawjson.Object, readers fieldReaders) {
	for name, value := range o.All() {
		read, known := readers[name]
		if !known {
			r.unknown(join(path, name), name, readers)
			continue
		}
		read(join(path, name), value)
	}
}

func (r *reader) each(path string, raw []byte, read func(name, path string, raw []byte)) {
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		r.problem(path, "use an object")
		return
	}
	for name, value := range o.All() {
		read(name, join(path, name), value)
	}
}

func (r *reader) text(dst **string, max int) fieldReader {
	return func(path string, raw []byte) {
		s, ok := rawjson.String(raw)
		switch {
		case !ok:
			r.problem(path, "use a string")
		case len(s) > max*4 || len([]rune(s)) > max:
			r.problem(path, fmt.Sprintf("use at most %d characters", max))
		case strings.ContainsRune(s, 0):
			r.problem(path, "the null character cannot be stored")
		default:
			*dst = &s
		}
	}
}

func (r *reader) boolean(dst **bool) fieldReader {
	return func(path string, raw []byte) {
		v, err := strconv.ParseBool(strings.TrimSpace(string(raw)))
		if k := rawjson.Kind(raw); err != nil || k != 't' && k != 'f' {
			r.problem(path, "use true or false")
			return
		}
		*dst = &v
	}
}

func (r *reader) integer(dst **int64, min, max int64) fieldReader {
	return r.quantity(dst, "a whole number", min, max)
}

func (r *reader) milliseconds(dst **int64, min, max int64) fieldReader {
	return r.quantity(dst, "a whole number of milliseconds", min, max)
}

// quantity reads an integer, which problems call what.
func (r *reader) quantity(dst **int64, what string, min, max int64) fieldReader {
	return func(path string, raw []byte) {
		v, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
		if err != nil || v < min || v > max {
			r.problem(path, fmt.Sprintf("use %s from %d to %d", what, min, max))
			return
		}
		*dst = &v
	}
}

func (r *reader) toolNameLimit(dst **int64) fieldReader {
	return func(path string, raw []byte) {
		v, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
		if err != nil || v != 0 && (v < MinToolNameLimit || v > MaxToolNameLimit) {
			r.problem(path, fmt.Sprintf("use 0 for no limit, or a whole number from %d to %d", MinToolNameLimit, MaxToolNameLimit))
			return
		}
		*dst = &v
	}
}

func (r *reader) number(dst **float64, max float64) fieldReader {
	return func(path string, raw []byte) {
		v, err := strconv.ParseFloat(strings.TrimSpace(string(raw)), 64)
		if err != nil || !rawjson.IsNumber(raw) || math.IsNaN(v) || v < 0 || v > max {
			r.problem(path, fmt.Sprintf("use a number from 0 to %g", max))
			return
		}
		*dst = &v
	}
}

func (r *reader) strings(dst **[]string, max, maxLen int) fieldReader {
	return func(path string, raw []byte) {
		items, err := rawjson.Elements(raw, rawjson.Strict)
		if err != nil {
			r.problem(path, "use an array of strings")
			return
		}
		if len(items) > max {
			r.problem(path, fmt.Sprintf("use at most %d entries", max))
			return
		}
		list := make([]string, 0, len(items))
		for i, item := range items {
			s, ok := rawjson.String(item)
			if !ok || s == "" || len(s) > maxLen || strings.ContainsRune(s, 0) {
				r.problem(fmt.Sprintf("%s[%d]", path, i), fmt.Sprintf("use a string of 1 to %d bytes", maxLen))
				continue
			}
			list = append(list, s)
		}
		*dst = &list
	}
}

func oneOf[T ~string](r *reader, dst **T, allowed ...T) fieldReader {
	return func(path string, raw []byte) {
		s, ok := rawjson.String(raw)
		if v := T(s); ok && slices.Contains(allowed, v) {
			*dst = &v
			return
		}
		words := make([]string, len(allowed))
		for i, a := range allowed {
			words[i] = string(a)
		}
		r.problem(path, "use one of "+strings.Join(words, ", "))
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// unknown refuses a key and names the nearest known one, or all of them. also
// are further names that may have been meant.
func (r *reader) unknown(path, name string, readers fieldReaders, also ...string) {
	known := slices.Sorted(maps.Keys(readers))
	if near := nearest.Name(name, append(known[:len(known):len(known)], also...)); near != "" {
		r.problem(path, "this key is unknown: did you mean "+near+"?")
		return
	}
	r.problem(path, "this key is unknown: known are "+strings.Join(known, ", "))
}
