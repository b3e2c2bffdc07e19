package files

import (
	"fmt"

	"mcpgateway/services/clientfile"
	"mcpgateway/services/declaration"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/trusted"
)

// local adds the servers of a client's configuration. Its errors concern the whole
// file.
func (r *reading) local(file *trusted.File) error {
	parsed, err := clientfile.ParseFile(string(file.Content))
	if err != nil {
		return err
	}
	for path, why := range parsed.Problems {
		return fmt.Errorf("%s: %s", path, why)
	}
	if r.servers == nil {
		r.servers = map[string]*declaration.Server{}
	}
	if len(parsed.NotTaken) > 0 {
		r.set.Notes = append(r.set.Notes, file.Path+": "+declaration.Ignored(parsed.NotTaken))
	}
	for _, server := range parsed.Servers {
		if why := declaration.CheckAlias(server.Name); why != "" {
			r.problem(file, server.Name, why)
			continue
		}
		fold := declaration.FoldAlias(server.Name)
		if other, taken := r.aliases[fold]; taken {
			return fmt.Errorf("the server %q is also in %s: names must be unique, ignoring case", server.Name, other.file)
		}
		r.aliases[fold] = place{file.Path, server.Name}
		r.server(file, server.Name, normalized(server.Raw))
	}
	return nil
}

// server adds a server of a client's configuration.
func (r *reading) server(file *trusted.File, alias string, raw []byte) {
	read := declaration.ReadServed(alias, raw, entry.Keys())
	for _, note := range read.Notes {
		r.set.Notes = append(r.set.Notes, file.Path+": "+alias+": "+note)
	}
	why := ""
	if len(read.Problems) > 0 {
		why = read.Problems[0].Why
		if path := read.Problems[0].Path; path != "" {
			why = path + ": " + why
		}
	}
	if !read.Declaration.Program {
		if why != "" {
			r.problem(file, alias, why)
			return
		}
		r.set.Remote = append(r.set.Remote, Remote{Name: alias, File: file.Path})
		r.servers[alias] = read.Declaration
		return
	}
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil { // impossible: it was parsed before
		r.problem(file, alias, "use an object")
		return
	}
	e := entry.Parse(alias, o)
	if e.Problem == "" {
		e.Problem = why
	}
	r.set.Programs = append(r.set.Programs, e)
	r.servers[alias] = read.Declaration
}

func (r *reading) problem(file *trusted.File, name, why string) {
	r.set.Problems = append(r.set.Problems, Problem{File: file.Path, Name: fmt.Sprintf("%.80q", name), Reason: why})
}

// normalized returns an entry with its command in the form of most clients:
// opencode has one list in command, and Zed an object.
func normalized(raw []byte) []byte {
	o, err := rawjson.ParseObject(raw, rawjson.Strict)
	if err != nil {
		return raw
	}
	switch command := o.Get("command"); rawjson.Kind(command) {
	case '[':
		words, err := rawjson.Elements(command, rawjson.Strict)
		if err != nil || len(words) == 0 || o.Get("args") != nil {
			return raw
		}
		o.Set("command", words[0])
		o.Set("args", array(words[1:]))
	case '{':
		inner := o.Object("command")
		if inner == nil || inner.Get("path") == nil || o.Get("args") != nil {
			return raw
		}
		o.Set("command", inner.Get("path"))
		for _, name := range []string{"args", "env"} {
			if value := inner.Get(name); value != nil && o.Get(name) == nil {
				o.Set(name, value)
			}
		}
	}
	if env := o.Get("environment"); env != nil && o.Get("command") != nil && o.Get("env") == nil {
		o.Set("env", env)
		o.Delete("environment")
	}
	return o.Bytes()
}

func array(items [][]byte) []byte {
	raw := []byte{'['}
	for i, item := range items {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, item...)
	}
	return append(raw, ']')
}
