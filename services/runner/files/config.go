package files

import (
	"bytes"
	"maps"
	"slices"

	"mcpgateway/services/clientfile"
	"mcpgateway/services/declaration"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/runner/entry"
	"mcpgateway/services/runner/trusted"
)

// config adds the servers of the declarative file. Its errors name every mistake
// by path.
func (r *reading) config(file *trusted.File) error {
	d, err := declaration.ParseServed(file.Content, entry.Keys())
	if err != nil {
		return err
	}
	r.set.Declaration = d
	for _, note := range d.Notes {
		r.set.Notes = append(r.set.Notes, file.Path+": "+note)
	}
	raw, err := entries(file.Content, d)
	if err != nil {
		return err
	}
	for _, slug := range slices.Sorted(maps.Keys(d.Projects)) {
		for alias, server := range d.Projects[slug].Servers {
			name := slug + "/" + alias
			if !server.Program {
				r.set.Remote = append(r.set.Remote, Remote{Name: name, File: file.Path})
				continue
			}
			o, err := rawjson.ParseObject(raw[name], rawjson.Strict)
			if err != nil {
				return err
			}
			r.set.Programs = append(r.set.Programs, entry.Parse(name, o))
		}
	}
	return nil
}

// entries returns the entries of a declarative file by PROJECT/ALIAS.
func entries(content []byte, d *declaration.File) (map[string][]byte, error) {
	all := map[string][]byte{}
	if d.Client != nil {
		parsed, err := clientfile.Parse(string(content))
		if err != nil {
			return nil, err
		}
		for _, server := range parsed.Servers {
			all[declaration.DefaultProject+"/"+server.Name] = normalized(server.Raw)
		}
		return all, nil
	}
	o, err := rawjson.ParseObject(bytes.TrimPrefix(content, []byte("\ufeff")), rawjson.Strict)
	if err != nil {
		return nil, err
	}
	projects := o.Object("projects")
	for slug := range d.Projects {
		servers := projects.Object(slug).Object("mcpServers")
		if servers == nil {
			continue
		}
		for alias, raw := range servers.All() {
			all[slug+"/"+alias] = raw
		}
	}
	return all, nil
}
