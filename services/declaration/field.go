package declaration

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpgateway/services/rawjson"
)

// field is one key of a declaration. read parses and checks its value; check
// only checks it. Both report problems and remove an invalid value. value
// returns the value for JSON, or nil if there is none.
type field struct {
	read  func(path string, raw []byte)
	check func(path string)
	value func() any
}

// fields are the known keys of an object.
type fields map[string]field

func (f fields) check(path string) {
	for name, field := range f {
		field.check(Join(path, name))
	}
}

func (f fields) values() map[string]any {
	all := map[string]any{}
	for name, field := range f {
		if v := field.value(); v != nil {
			all[name] = v
		}
	}
	return all
}

// group returns the field of an object with the known keys.
func (r *reader) group(known fields) field {
	return field{
		read:  func(path string, raw []byte) { r.object(path, raw, known) },
		check: known.check,
		value: func() any { return known.values() },
	}
}

// value returns the field of one value. decode parses it and reports whether
// its type is right; otherwise hint is the problem. check returns the value to
// store, and its problem or "".
func value[T any](r *reader, dst **T, hint string, decode func(raw []byte) (T, bool), check func(T) (T, string)) field {
	f := field{
		check: func(path string) {
			if *dst == nil {
				return
			}
			v, why := check(**dst)
			if *dst = &v; why != "" {
				r.problem(path, why)
				*dst = nil
			}
		},
		value: func() any {
			if *dst == nil {
				return nil
			}
			return *dst
		},
	}
	f.read = func(path string, raw []byte) {
		v, ok := decode(raw)
		if !ok {
			r.problem(path, hint)
			return
		}
		*dst = &v
		f.check(path)
	}
	return f
}

func (r *reader) text(dst **string, max int) field {
	return value(r, dst, "use a string", rawjson.String, func(s string) (string, string) { return checkText(s, max) })
}

// checkText returns a text with invalid UTF-8 replaced, and its problem or "".
// It can have at most max characters.
func checkText(s string, max int) (valid, why string) {
	switch {
	case len(s) > max*utf8.UTFMax || utf8.RuneCountInString(s) > max:
		return "", fmt.Sprintf("use at most %d characters", max)
	case strings.ContainsRune(s, 0):
		return "", "null characters are not allowed"
	}
	return string([]rune(s)), ""
}

func (r *reader) boolean(dst **bool) field {
	decode := func(raw []byte) (bool, bool) {
		text := strings.TrimSpace(string(raw))
		return text == "true", text == "true" || text == "false"
	}
	return value(r, dst, "use true or false", decode, func(v bool) (bool, string) { return v, "" })
}

func (r *reader) integer(dst **int64, min, max int64) field {
	return r.quantity(dst, fmt.Sprintf("use a whole number from %d to %d", min, max), min, max)
}

func (r *reader) milliseconds(dst **int64, min, max int64) field {
	return r.quantity(dst, fmt.Sprintf("use a whole number of milliseconds from %d to %d", min, max), min, max)
}

// quantity returns the field of an integer from min to max, or one of also.
func (r *reader) quantity(dst **int64, wanted string, min, max int64, also ...int64) field {
	decode := func(raw []byte) (int64, bool) {
		v, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
		return v, err == nil
	}
	return value(r, dst, wanted, decode, func(v int64) (int64, string) {
		if (v < min || v > max) && !slices.Contains(also, v) {
			return 0, wanted
		}
		return v, ""
	})
}

func (r *reader) toolNameLimit(dst **int64) field {
	wanted := fmt.Sprintf("use 0 for no limit, or a whole number from %d to %d", MinToolNameLimit, MaxToolNameLimit)
	return r.quantity(dst, wanted, MinToolNameLimit, MaxToolNameLimit, 0)
}

// ProjectResultLimit is the declared value, null in JSON, of a server whose
// results have the limit of its project.
const ProjectResultLimit int64 = -1

// serverResultLimit returns the field of a server's limit of results.
func (r *reader) serverResultLimit(dst **int64) field {
	f := r.quantity(dst, fmt.Sprintf("use null for the project's limit, 0 for no limit, or a whole number up to %d", MaxResultLimit), 0, MaxResultLimit, ProjectResultLimit)
	number := f.read
	f.read = func(path string, raw []byte) {
		switch text := strings.TrimSpace(string(raw)); {
		case text == "null":
			*dst = new(ProjectResultLimit)
		case strings.HasPrefix(text, "-"):
			number(path, []byte("x")) // no number stands for null
		default:
			number(path, raw)
		}
	}
	f.value = func() any {
		if *dst == nil || **dst == ProjectResultLimit {
			return nil
		}
		return *dst
	}
	return f
}

func (r *reader) number(dst **float64, max float64) field {
	wanted := "use a number from 0 to " + strconv.FormatFloat(max, 'f', -1, 64)
	decode := func(raw []byte) (float64, bool) {
		v, err := strconv.ParseFloat(strings.TrimSpace(string(raw)), 64)
		return v, err == nil && rawjson.IsNumber(raw)
	}
	return value(r, dst, wanted, decode, func(v float64) (float64, string) {
		if math.IsNaN(v) || v < 0 || v > max {
			return 0, wanted
		}
		return v, ""
	})
}

func oneOf[T ~string](r *reader, dst **T, allowed ...T) field {
	words := make([]string, len(allowed))
	for i, a := range allowed {
		words[i] = string(a)
	}
	wanted := "use one of " + strings.Join(words, ", ")
	decode := func(raw []byte) (T, bool) {
		s, ok := rawjson.String(raw)
		return T(s), ok
	}
	return value(r, dst, wanted, decode, func(v T) (T, string) {
		if !slices.Contains(allowed, v) {
			return "", wanted
		}
		return v, ""
	})
}

// strings returns the field of a list of at most max strings of 1 to maxLen
// bytes.
func (r *reader) strings(dst **[]string, max, maxLen int) field {
	check := func(path string) {
		if *dst == nil {
			return
		}
		items := **dst
		if *dst = nil; len(items) > max {
			r.problem(path, fmt.Sprintf("use at most %d entries", max))
			return
		}
		list := make([]string, 0, len(items))
		for i, s := range items {
			if s = string([]rune(s)); s == "" || len(s) > maxLen || strings.ContainsRune(s, 0) {
				r.problem(fmt.Sprintf("%s[%d]", path, i), fmt.Sprintf("use a string of 1 to %d bytes", maxLen))
				continue
			}
			list = append(list, s)
		}
		*dst = &list
	}
	read := func(path string, raw []byte) {
		items, err := rawjson.Elements(raw, rawjson.Strict)
		if err != nil {
			r.problem(path, "use an array of strings")
			return
		}
		list := make([]string, len(items))
		for i, item := range items {
			list[i], _ = rawjson.String(item) // check reports an empty one
		}
		*dst = &list
		check(path)
	}
	return field{read: read, check: check, value: func() any {
		if *dst == nil {
			return nil
		}
		return append([]string{}, **dst...) // encode an empty list as [], not null
	}}
}

// headers returns the field of header values by name.
func (r *reader) headers(dst *map[string]string) field {
	check := func(path string) {
		given := *dst
		if given == nil {
			return
		}
		*dst = make(map[string]string, len(given))
		for name, value := range given {
			valid, why := checkText(value, MaxHeaderValue)
			if why != "" {
				r.problem(Join(path, name), why)
				continue
			}
			(*dst)[name] = valid
		}
		if len(*dst) > MaxHeaders {
			r.problem(path, fmt.Sprintf("use at most %d headers", MaxHeaders))
		}
	}
	read := func(path string, raw []byte) {
		*dst = map[string]string{}
		r.each(path, raw, func(name, path string, raw []byte) {
			s, ok := rawjson.String(raw)
			if !ok {
				r.problem(path, "use a string")
				return
			}
			(*dst)[name] = s
		})
		check(path)
	}
	return field{read: read, check: check, value: func() any {
		if *dst == nil {
			return nil
		}
		return *dst
	}}
}
