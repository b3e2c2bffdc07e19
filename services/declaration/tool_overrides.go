package declaration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

var toolNameForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// ParseToolOverride parses the override of one tool. It returns its problems by
// path, such as "fixed" or "annotations.readOnlyHint".
func ParseToolOverride(raw []byte) (models.ToolOverride, map[string]string) {
	r := newReader()
	o := r.toolOverride("", raw)
	return o, r.problems
}

// toolOverrides returns the field of a server's overrides by tool.
func (r *reader) toolOverrides(dst **models.ToolOverrides) field {
	read := func(path string, raw []byte) {
		overrides := models.ToolOverrides{}
		r.each(path, raw, func(name, path string, raw []byte) {
			if name == "" || len(name) > MaxToolName || strings.ContainsRune(name, 0) {
				r.problem(path, fmt.Sprintf("use the server's own name of a tool: 1 to %d bytes", MaxToolName))
				return
			}
			if o := r.toolOverride(path, raw); !isEmpty(o) {
				overrides[name] = o
			}
		})
		if len(overrides.JSON()) > MaxToolOverrides {
			r.problem(path, fmt.Sprintf("use at most %d bytes for the overrides of a server", MaxToolOverrides))
		}
		*dst = &overrides
	}
	return field{
		read: read,
		check: func(path string) {
			if *dst != nil {
				read(path, (*dst).JSON())
			}
		},
		value: func() any {
			if *dst == nil {
				return nil
			}
			return json.RawMessage((*dst).JSON())
		},
	}
}

// isEmpty reports whether an override changes nothing.
func isEmpty(o models.ToolOverride) bool { return string(o.JSON()) == "{}" }

// toolOverride parses the override of one tool.
func (r *reader) toolOverride(path string, raw []byte) models.ToolOverride {
	var o models.ToolOverride
	var as, title, description *string
	hints := &o.Annotations
	r.object(path, raw, fields{
		"as":          value(r, &as, "use a string", rawjson.String, checkToolName),
		"title":       r.replacement(&title, MaxToolTitle),
		"description": r.replacement(&description, MaxToolText),
		"annotations": r.group(fields{
			"readOnlyHint": r.boolean(&hints.ReadOnlyHint), "destructiveHint": r.boolean(&hints.DestructiveHint),
			"idempotentHint": r.boolean(&hints.IdempotentHint), "openWorldHint": r.boolean(&hints.OpenWorldHint),
		}),
		"defaults": r.arguments(&o.Defaults),
		"fixed":    r.arguments(&o.Fixed),
	})
	for _, name := range slices.Sorted(maps.Keys(o.Fixed)) {
		if _, both := o.Defaults[name]; both {
			r.problem(Join(Join(path, "defaults"), name), "this argument is fixed already: remove one of them")
		}
	}
	for dst, src := range map[*string]*string{&o.As: as, &o.Title: title, &o.Description: description} {
		if src != nil {
			*dst = *src
		}
	}
	return o
}

func checkToolName(name string) (valid, why string) {
	if !toolNameForm.MatchString(name) {
		return "", "use 1 to 128 letters, digits, dots, hyphens or underscores"
	}
	return name, ""
}

// replacement returns the field of a text that replaces the server's.
func (r *reader) replacement(dst **string, max int) field {
	return value(r, dst, "use a string", rawjson.String, func(s string) (string, string) {
		if s == "" {
			return "", "use at least 1 character, or leave the key out to keep the server's text"
		}
		return checkText(s, max)
	})
}

// arguments returns the field of arguments by name. The values are made compact,
// so that the same file changes nothing.
func (r *reader) arguments(dst *map[string]json.RawMessage) field {
	return field{read: func(path string, raw []byte) {
		o, err := rawjson.ParseObject(raw, rawjson.Strict)
		if err != nil {
			r.problem(path, "use an object with the arguments")
			return
		}
		for name, value := range o.All() {
			var compact bytes.Buffer
			if name == "" || len(name) > MaxPattern || json.Compact(&compact, value) != nil {
				r.problem(Join(path, name), fmt.Sprintf("use the name of an argument: 1 to %d bytes", MaxPattern))
				continue
			}
			if *dst == nil {
				*dst = map[string]json.RawMessage{}
			}
			(*dst)[name] = compact.Bytes()
		}
	}}
}
