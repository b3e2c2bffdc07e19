package public

import (
	"regexp"
	"strings"
	"time"

	"mcpgateway/views/public"
	"mcpgateway/views/ui"
)

// schema is an object of schema.org in JSON-LD.
type schema map[string]any

// website describes the site and the URL of its registry search.
func (p *Pages) website() schema {
	return schema{
		"@context": "https://schema.org", "@type": "WebSite", "name": "Gateway", "url": p.absolute("/"),
		"potentialAction": schema{
			"@type": "SearchAction", "query-input": "required name=query",
			"target": schema{"@type": "EntryPoint", "urlTemplate": p.absolute("/registry?query={query}")},
		},
	}
}

// itemList describes a page of a list.
func (p *Pages) itemList(first int, names, paths []string) schema {
	items := make([]schema, len(names))
	for i, name := range names {
		items[i] = schema{"@type": "ListItem", "position": first + i + 1, "name": name, "url": p.absolute(paths[i])}
	}
	return schema{"@context": "https://schema.org", "@type": "ItemList", "itemListElement": items}
}

// software describes a server of the registry with its tools.
func (p *Pages) software(s public.CatalogEntry, tools []string) schema {
	d := schema{
		"@context": "https://schema.org", "@type": "SoftwareApplication", "name": s.Title(), "applicationCategory": "DeveloperApplication",
		"url": p.absolute(s.Path()), "image": p.absolute(s.CardPath()), "publisher": schema{"@type": "Organization", "name": s.Publisher()},
	}
	for name, value := range map[string]string{
		"description": ui.Clean(s.Description), "softwareVersion": ui.Clean(s.Version), "keywords": ui.Clean(strings.Join(s.Tags, ", ")),
	} {
		if value != "" {
			d[name] = value
		}
	}
	if spdx.MatchString(s.License) {
		d["license"] = "https://spdx.org/licenses/" + s.License + ".html"
	}
	if s.LastReleaseAt != nil {
		d["dateModified"] = s.LastReleaseAt.UTC().Format(time.DateOnly)
	}
	if len(tools) > 0 {
		d["featureList"] = ui.Clean(strings.Join(tools[:min(maxFeatures, len(tools))], ", "))
	}
	if s.Local() {
		d["operatingSystem"] = "Linux, macOS, Windows"
	}
	var same []string
	for _, u := range []string{s.WebsiteURL, s.RepoURL} {
		if strings.HasPrefix(u, "https://") && !ui.Hidden(u) {
			same = append(same, u)
		}
	}
	if len(same) > 0 {
		d["sameAs"] = same
	}
	return d
}

// spdx matches the identifier of one license (SPDX 2.3, annex D).
var spdx = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)

// maxFeatures is the maximum number of tools in the data of a page.
const maxFeatures = 50

// howTo describes a template.
func (p *Pages) howTo(t public.Template) schema {
	steps := make([]schema, len(t.Steps))
	for i, step := range t.Steps {
		steps[i] = schema{"@type": "HowToStep", "position": i + 1, "text": ui.Clean(step)}
	}
	return schema{
		"@context": "https://schema.org", "@type": "HowTo", "name": ui.Clean(t.Title), "description": ui.Clean(t.Description),
		"url": p.absolute(t.Path()), "step": steps,
	}
}
