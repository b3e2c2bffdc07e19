package public

import (
	"slices"

	"github.com/a-h/templ"

	"mcpgateway/services/catalog"
	"mcpgateway/services/query"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
)

// Number of shown values per facet.
const (
	shownTags       = 10
	shownPublishers = 6
)

// runsHere is the value of the parameter runs for servers that a computer can
// run.
const runsHere = "here"

// signInValues are the values of the parameter signin.
var signInValues = []string{catalog.SignInNone, catalog.SignInKey, catalog.SignInOAuth, catalog.SignInUnknown}

// orderWords describes the order of a selection.
func orderWords(s selection) string {
	switch {
	case s.sort == catalog.SortName:
		return "by name"
	case s.sort == catalog.SortNewest:
		return "newest first"
	case s.words:
		return "best matches first"
	}
	return "featured first"
}

// narrow sets the chips, facets and orders of a list.
func (r *Registry) narrow(props *public.RegistryProps, s selection) error {
	parsed, err := query.Registry().Parse(s.text)
	if err != nil {
		return err
	}
	n := filterLinks{clauses: parsed.Clauses, link: func(text string) string {
		with := s
		with.text = text
		return with.url(1)
	}}
	count := r.counter(s, n)
	verified, err := count("verified")
	if err != nil {
		return err
	}
	props.Search.Chips = n.chips(s)
	for _, f := range []struct {
		title, qualifier string
		values           func(*catalog.Facets) ui.Facet
	}{
		{"Where it runs", "works", func(c *catalog.Facets) ui.Facet { return n.places(s, c) }},
		{"Sign-in", "signin", func(c *catalog.Facets) ui.Facet { return n.signIns(s, c.SignIn) }},
		{"Transport", "transport", func(c *catalog.Facets) ui.Facet { return n.facet("transport", c.Transports, 3) }},
		{"Topic", "tag", func(c *catalog.Facets) ui.Facet { return n.facet("tag", c.Tags, shownTags) }},
		{"Publisher", "publisher", func(c *catalog.Facets) ui.Facet {
			return n.withVerified(verified.Verified, n.facet("publisher", c.Publishers, shownPublishers))
		}},
	} {
		counts, err := count(f.qualifier)
		if err != nil {
			return err
		}
		facet := f.values(counts)
		facet.Title = f.title
		props.Facets = append(props.Facets, facet)
	}
	if !props.Closest {
		props.Sorts, props.Sort = sorts(s), string(s.sort)
	}
	return nil
}

// counter returns the function that counts the values of a property. Values of
// one property are alternatives, so they are counted without its own choice. Without
// a choice, properties share their counts.
func (r *Registry) counter(s selection, n filterLinks) func(qualifier string) (*catalog.Facets, error) {
	type counted struct {
		text   string
		filter catalog.Filter
	}
	known := map[counted]*catalog.Facets{}
	return func(qualifier string) (*catalog.Facets, error) {
		text, filter := s.text, s.filter
		switch qualifier {
		case "works":
			filter.Works, filter.Here = false, false
			qualifier = "transport"
		case "signin":
			filter.SignIn = ""
		}
		if n.has(qualifier) {
			text = (&query.Query{Clauses: without(n.clauses, qualifier)}).Canonical()
		}
		of := counted{text, filter}
		if known[of] == nil {
			counts, err := r.Catalog.Facets(text, filter)
			if err != nil {
				return nil, err
			}
			known[of] = counts
		}
		return known[of], nil
	}
}

// chips returns the chips of the two common filters, and of other clauses of the
// query.
func (n filterLinks) chips(s selection) []ui.Chip {
	works := s
	works.filter.Works, works.filter.Here = !works.filter.Works, false
	link, on := n.only("verified", "true")
	chips := []ui.Chip{{Label: "Works here", URL: works.url(1), On: s.filter.Works}, {Label: "Verified", URL: link, On: on}}
	if s.filter.Here {
		all := s
		all.filter.Here = false
		chips = append(chips, ui.Chip{Label: "Runs here", URL: all.url(1), On: true})
	}
	return append(chips, n.active(chips)...)
}

// places returns where servers run.
func (n filterLinks) places(s selection, c *catalog.Facets) ui.Facet {
	remote := s
	remote.filter.Works, remote.filter.Here = !s.filter.Works, false
	remote.text = (&query.Query{Clauses: without(n.clauses, "transport")}).Canonical()
	here := s
	here.filter.Works, here.filter.Here = false, !s.filter.Here
	here.text = remote.text
	local := s
	local.filter.Works, local.filter.Here = false, false
	is := func(clause query.Clause) bool { return is(&clause, "transport", "stdio") }
	on := slices.ContainsFunc(n.clauses, is)
	rest := without(n.clauses, "transport")
	if !on {
		rest = append(rest, query.Clause{Qualifier: "transport", Value: "stdio"})
	}
	local.text = (&query.Query{Clauses: rest}).Canonical()
	ready := "Remote, ready to add"
	if s.filter.Programs {
		ready = "Works here"
	}
	return ui.Facet{Options: []ui.FacetOption{
		{Label: ready, URL: remote.url(1), Count: c.Works, On: s.filter.Works},
		{Label: "Runs here", URL: here.url(1), Count: c.Here, On: s.filter.Here},
		{Label: "Runs as a program", URL: local.url(1), Count: c.Local, On: on},
	}}
}

// signIns returns how callers authenticate.
func (n filterLinks) signIns(s selection, counts []catalog.Count) ui.Facet {
	labels := map[string]string{catalog.SignInNone: "No key", catalog.SignInKey: "API key", catalog.SignInOAuth: "OAuth sign-in", catalog.SignInUnknown: "Not known"}
	var f ui.Facet
	for _, v := range counts {
		with, on := s, s.filter.SignIn == v.Value
		with.filter.SignIn = v.Value
		if on {
			with.filter.SignIn = ""
		}
		if on || v.Count > 0 {
			f.Options = append(f.Options, ui.FacetOption{Label: labels[v.Value], URL: with.url(1), Count: v.Count, On: on})
		}
	}
	return f
}

// withVerified returns the facet of publishers with the mark of verified servers
// first.
func (n filterLinks) withVerified(count int, f ui.Facet) ui.Facet {
	if link, on := n.only("verified", "true"); on || count > 0 {
		f.Options = append([]ui.FacetOption{{Label: "Verified", URL: link, Count: count, On: on}}, f.Options...)
	}
	return f
}

// facet returns a property with its most frequent values, including the ones in
// the query.
func (n filterLinks) facet(qualifier string, counts []catalog.Count, most int) ui.Facet {
	var f ui.Facet
	for _, v := range counts {
		link, on := n.toggle(qualifier, v.Value)
		if !on && (v.Count == 0 || len(f.Options) >= most) {
			continue
		}
		title := ui.Clean(v.Title)
		switch {
		case qualifier == "tag":
			title = public.Topic(title)
		case v.Value == "stdio" && qualifier == "transport":
			title = "Program (stdio)"
		}
		f.Options = append(f.Options, ui.FacetOption{Label: title, URL: link, Count: v.Count, On: on})
	}
	return f
}

// sorts returns the orders of a list.
func sorts(s selection) []ui.Option {
	first := "Featured"
	if s.words {
		first = "Best match"
	}
	return []ui.Option{{Label: first}, {Value: string(catalog.SortName), Label: "Name"}, {Value: string(catalog.SortNewest), Label: "Newest"}}
}

// tabsOf returns the tabs of the catalog pages.
func tabsOf(c *catalog.Catalog, f layout.Frame, current public.CatalogTab) public.CatalogTabs {
	return public.CatalogTabs{Servers: len(c.AllEntries()), Templates: len(c.AllTemplates()), Sources: f.Nav != nil, Current: current}
}

// addYourOwn returns the button that adds a server without the catalog, for an
// administrator of a project, or nil.
func addYourOwn(f layout.Frame) templ.Component {
	if !f.Admin() || f.Nav == nil || f.Nav.Project == nil {
		return nil
	}
	return ui.LinkButton(ui.LinkProps{Label: "Add your own", URL: paths.NewServer(f.Nav.Project.Slug), Icon: "plus"})
}
