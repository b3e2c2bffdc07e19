package addresses

import (
	"bytes"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
)

// Rewriting changes the URIs of results and requests of one server, and nothing
// else: members with other names, texts, structured content and HTML keep their
// bytes. Input that is not of the expected form is returned unchanged.

// CallResult returns the result of tools/call of a server, also that of a task,
// with the URIs of resource links, embedded resources and user interfaces as
// they are shown to clients.
func (b *Book) CallResult(alias string, result []byte) []byte {
	if b.Single() || !hasURI(result) && !hasUI(result) {
		return result
	}
	return edit(result, func(o *rawjson.Object) bool {
		shown := func(uri string) string { return b.Shown(alias, uri) }
		content := elements(o, "content", func(block *rawjson.Object) bool { return editBlock(block, shown) })
		return editUI(o, shown) || content
	})
}

// TaskResult returns a task of a server whose result, if it has one, has the URIs
// that are shown to clients, as in CallResult.
func (b *Book) TaskResult(alias string, task []byte) []byte {
	if b.Single() || !hasURI(task) && !hasUI(task) {
		return task
	}
	return edit(task, func(o *rawjson.Object) bool {
		result := o.Get("result")
		shown := b.CallResult(alias, result)
		if bytes.Equal(result, shown) {
			return false
		}
		o.Set("result", shown)
		return true
	})
}

// PromptResult returns the result of prompts/get of a server with the URIs of
// resource links and embedded resources as they are shown to clients.
func (b *Book) PromptResult(alias string, result []byte) []byte {
	if b.Single() || !hasURI(result) {
		return result
	}
	block := func(block *rawjson.Object) bool {
		return editBlock(block, func(uri string) string { return b.Shown(alias, uri) })
	}
	return edit(result, func(o *rawjson.Object) bool {
		return elements(o, "messages", func(message *rawjson.Object) bool {
			return member(message, "content", block) || elements(message, "content", block)
		})
	})
}

// ReadResult returns the result of resources/read of a server, which received
// the URI sent, for a client that requested asked.
func (b *Book) ReadResult(alias, asked, sent string, result []byte) []byte {
	if b.Single() || !hasURI(result) {
		return result
	}
	return edit(result, func(o *rawjson.Object) bool {
		return elements(o, "contents", func(content *rawjson.Object) bool {
			return editString(content, "uri", func(uri string) string {
				if uri == sent {
					return asked
				}
				return b.Shown(alias, uri)
			})
		})
	})
}

// Definition returns the definition of a server's tool with the URIs of its user
// interfaces as they are shown to clients.
func (b *Book) Definition(alias string, definition []byte) []byte {
	if b.Single() || !hasUI(definition) {
		return definition
	}
	return edit(definition, func(o *rawjson.Object) bool {
		return editUI(o, func(uri string) string {
			if shown, ok := b.Listed(alias, models.ClaimURI, uri); ok {
				return shown
			}
			return uri
		})
	})
}

// Arguments returns a JSON object of arguments for a server. Strings in it that
// are wholly a qualified address of the server become its own URIs.
func (b *Book) Arguments(alias string, arguments []byte) []byte {
	if b.Single() || !mentions(arguments, alias) {
		return arguments
	}
	return editStrings(arguments, func(text string) string {
		if route := b.Route(text); route.Alias == Fold(alias) {
			return route.Text
		}
		return text
	})
}

// UIs returns the URIs of the user interfaces in a tool's definition (MCP Apps,
// and the member of OpenAI's Apps SDK).
func UIs(definition []byte) (uris []string) {
	if !hasUI(definition) {
		return nil
	}
	edit(definition, func(o *rawjson.Object) bool {
		return editUI(o, func(uri string) string {
			uris = append(uris, uri)
			return uri
		})
	})
	return uris
}

func hasURI(raw []byte) bool { return bytes.Contains(raw, []byte(`"uri"`)) }

func hasUI(raw []byte) bool {
	return bytes.Contains(raw, []byte(`resourceUri"`)) || bytes.Contains(raw, []byte(`"openai/outputTemplate"`))
}

// editBlock edits the URI of a resource link or of an embedded resource.
func editBlock(block *rawjson.Object, shown func(string) string) bool {
	link := editString(block, "uri", shown)
	return member(block, "resource", func(o *rawjson.Object) bool { return editString(o, "uri", shown) }) || link
}

// editUI edits the URIs of user interfaces in the _meta of a tool or result.
func editUI(o *rawjson.Object, shown func(string) string) bool {
	return member(o, "_meta", func(meta *rawjson.Object) bool {
		changed := member(meta, "ui", func(ui *rawjson.Object) bool { return editString(ui, "resourceUri", shown) })
		changed = editString(meta, "ui/resourceUri", shown) || changed
		return editString(meta, "openai/outputTemplate", shown) || changed
	})
}

// edit returns raw, edited by do, which reports whether it changed anything.
func edit(raw []byte, do func(*rawjson.Object) bool) []byte {
	o, err := rawjson.ParseObject(raw, rawjson.Lenient)
	if err != nil || !do(o) {
		return raw
	}
	return o.Bytes()
}

// member edits the member called name, if it is an object.
func member(o *rawjson.Object, name string, do func(*rawjson.Object) bool) bool {
	inner := o.Object(name)
	if inner == nil || !do(inner) {
		return false
	}
	o.Set(name, inner.Bytes())
	return true
}

// elements edits the objects in the array called name.
func elements(o *rawjson.Object, name string, do func(*rawjson.Object) bool) bool {
	raw := o.Get(name)
	if rawjson.Kind(raw) != '[' {
		return false
	}
	all, err := rawjson.Elements(raw, rawjson.Lenient)
	if err != nil {
		return false
	}
	changed := false
	for i, element := range all {
		if rawjson.Kind(element) == '{' {
			all[i] = edit(element, func(o *rawjson.Object) bool {
				if !do(o) {
					return false
				}
				changed = true
				return true
			})
		}
	}
	if changed {
		o.Set(name, append(append([]byte{'['}, bytes.Join(all, []byte{','})...), ']'))
	}
	return changed
}

// editString edits the string called name.
func editString(o *rawjson.Object, name string, shown func(string) string) bool {
	text, ok := o.String(name)
	if !ok {
		return false
	}
	next := shown(text)
	if next == text {
		return false
	}
	o.Set(name, rawjson.Quote(next))
	return true
}
