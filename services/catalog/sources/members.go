package sources

import (
	"fmt"

	"mcpgateway/services/rawjson"
)

// members are the member names of an object, with those of nested objects. Nil
// means that nested values aren't checked.
type members map[string]members

// The members of the official format (schema 2025-12-11) in the objects that
// the catalog parses.
var (
	officialPageMembers   = members{"servers": {"server": nil, "_meta": nil}, "metadata": {"nextCursor": nil, "count": nil}}
	officialServerMembers = members{
		"$schema": nil, "_meta": nil, "name": nil, "title": nil, "description": nil, "version": nil, "status": nil, "websiteUrl": nil,
		"repository": {"url": nil, "source": nil, "id": nil, "subfolder": nil},
		"icons":      {"src": nil, "mimeType": nil, "sizes": nil, "theme": nil},
		"remotes":    {"type": nil, "url": nil, "headers": officialInputMembers, "variables": nil},
		"packages": {
			"registryType": nil, "registryBaseUrl": nil, "identifier": nil, "version": nil, "fileSha256": nil, "runtimeHint": nil,
			"runtimeArguments": nil, "packageArguments": nil, "environmentVariables": officialInputMembers, "transport": nil,
		},
	}
	officialInputMembers = members{
		"name": nil, "description": nil, "isRequired": nil, "isSecret": nil, "format": nil, "value": nil, "default": nil,
		"placeholder": nil, "choices": nil, "variables": nil,
	}
	officialStateMembers = members{
		"status": nil, "statusChangedAt": nil, "statusMessage": nil, "publishedAt": nil, "updatedAt": nil, "isLatest": nil,
	}
)

// unknown calls report with the path of every member of the JSON value that m
// doesn't have. Names are case-sensitive.
func (m members) unknown(path string, raw []byte, report func(path string)) {
	if m == nil {
		return
	}
	switch rawjson.Kind(raw) {
	case '[':
		elements, err := rawjson.Elements(raw, rawjson.Lenient)
		if err != nil {
			return
		}
		for _, element := range elements {
			m.unknown(path, element, report)
		}
	case '{':
		o, err := rawjson.ParseObject(raw, rawjson.Lenient)
		if err != nil {
			return
		}
		for name, value := range o.All() {
			inner, known := m[name]
			if !known {
				report(path + name)
				continue
			}
			inner.unknown(path+name+".", value, report)
		}
	}
}

// unusableAddresses returns the members of the server whose URLs are omitted
// from its entry.
func (s *officialServer) unusableAddresses() []string {
	var paths []string
	unusable := func(path, address string, clean func(string) string) {
		if address != "" && clean(address) == "" {
			paths = append(paths, path)
		}
	}
	if len(s.Icons) > 0 {
		unusable("icons.src", s.Icons[0].Src, CleanIcon)
	}
	unusable("repository.url", s.Repository.URL, CleanLink)
	unusable("websiteUrl", s.WebsiteURL, CleanLink)
	for _, r := range s.Remotes {
		unusable("remotes.url", r.URL, cleanEndpoint)
	}
	return paths
}

// notices are the ignored parts of rows: each problem with the rows that have
// it.
type notices struct {
	order []string
	rows  map[string]*notice
}

type notice struct {
	first string
	last  string
	count int
}

// add records a problem of a row.
func (n *notices) add(problem, row string) {
	problem, row = Clean(problem, MaxTitle), Clean(row, MaxName)
	if n.rows == nil {
		n.rows = map[string]*notice{}
	}
	known := n.rows[problem]
	switch {
	case known == nil && len(n.order) == maxWarnings:
	case known == nil:
		n.order = append(n.order, problem)
		n.rows[problem] = &notice{first: row, last: row, count: 1}
	case known.last != row:
		known.last = row
		known.count++
	}
}

// warnings returns one warning per problem, with the name of the first row.
func (n *notices) warnings() []string {
	var out []string
	for _, problem := range n.order {
		text := n.rows[problem].first
		if more := n.rows[problem].count - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		out = append(out, text+": "+problem+" and is ignored")
	}
	return out
}
