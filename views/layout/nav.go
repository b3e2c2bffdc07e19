package layout

import (
	"net/url"
	"strconv"

	"mcpgateway/views/paths"
)

// Nav is the data of the side bar.
type Nav struct {
	Project   *NavProject  // the project of the page, or the one last visited; may be nil
	Projects  []NavProject // for the switcher
	Total     int          // number of all projects
	Reconnect int          // number of connections that need a user
	Limited   bool         // without the pages that only viewers and administrators have
}

// NavProject is a project in the side bar.
type NavProject struct {
	Slug, Name string
	Up, Down   int    // number of servers
	Servers    int    // those that are on
	Tone       string // worst state of its servers: "ok", "warn", "bad", or "" without servers
	Approve    int    // number of tools to approve; only for the project of the page
}

// Called returns the name, or the slug of a project without a name.
func (p NavProject) Called() string {
	if p.Name == "" {
		return p.Slug
	}
	return p.Name
}

// Status returns how many servers are up, such as "7 of 8 servers up".
func (p NavProject) Status() string {
	if p.Servers == 0 {
		return "No servers"
	}
	noun := " servers up"
	if p.Servers == 1 {
		noun = " server up"
	}
	return p.short() + noun
}

// short returns how many servers are up, such as "7 of 8".
func (p NavProject) short() string { return strconv.Itoa(p.Up) + " of " + strconv.Itoa(p.Servers) }

// ProjectTab is a page of a project, named by the last segment of its URL.
type ProjectTab string

// The pages of a project.
const (
	TabOverview ProjectTab = "overview"
	TabConnect  ProjectTab = "connect"
	TabServers  ProjectTab = "servers"
	TabTools    ProjectTab = "tools"
	TabToolsets ProjectTab = "toolsets"
	TabKeys     ProjectTab = "keys"
	TabAccess   ProjectTab = "access"
	TabCodeMode ProjectTab = "code-mode"
	TabActivity ProjectTab = "activity"
	TabUsage    ProjectTab = "usage"
	TabSettings ProjectTab = "settings"
)

// Label returns the name of the page.
func (t ProjectTab) Label() string {
	for _, e := range projectEntries() {
		if e.tab == t {
			return e.label
		}
	}
	return ""
}

// URL returns the page of the project with the slug.
func (t ProjectTab) URL(slug string) string {
	if t == TabOverview {
		return paths.Project(slug)
	}
	return paths.Project(slug) + "/" + string(t)
}

// projectEntry is a page of a project in the side bar. Key is the letter of its
// shortcut, pressed after g; it may be empty.
type projectEntry struct {
	tab              ProjectTab
	label, icon, key string
}

// hidden reports whether a maintainer doesn't have the page.
func (e projectEntry) hidden(limited bool) bool { return limited && e.tab == TabAccess }

func projectEntries() []projectEntry {
	return []projectEntry{
		{TabOverview, "Overview", "layout-dashboard", "o"},
		{TabConnect, "Connect", "plug-zap", "n"},
		{TabServers, "Servers", "server", "s"},
		{TabTools, "Tools", "wrench", "t"},
		{TabToolsets, "Toolsets", "list-checks", ""},
		{TabKeys, "Keys", "key-round", "k"},
		{TabAccess, "Access", "users-round", ""},
		{TabCodeMode, "Code Mode", "code", "m"},
		{TabActivity, "Activity", "activity", "a"},
		{TabUsage, "Usage", "table-2", ""},
		{TabSettings, "Settings", "sliders-horizontal", ""},
	}
}

// entry is a link of the navigation. Key is the letter of its keyboard shortcut,
// pressed after g; it may be empty.
type entry struct {
	label   string
	url     string
	icon    string
	key     string
	section Section
}

// administration returns the pages of the whole gateway: all, or those that a
// maintainer has.
func administration(limited bool) []entry {
	entries := []entry{
		{"Projects", paths.Home, "folder", "p", SectionProjects},
		{"Connections", paths.Connections, "plug", "x", SectionConnections},
		{"Catalog", paths.Registry, "library", "c", SectionCatalog},
		{"Audit log", paths.Audit, "scroll-text", "l", SectionAudit},
	}
	if limited {
		return entries
	}
	return append(entries, entry{"Alerts", paths.Alerts, "bell", "", SectionAlerts}, entry{"People", paths.People, "users", "", SectionPeople}, entry{"Settings", paths.Settings, "settings", "", SectionSettings})
}

func personal() []entry {
	return []entry{
		{"My projects", paths.Me, "folder", "p", SectionMe},
		{"My connections", paths.MyConnections, "plug", "", SectionMyConnections},
		{"My keys", paths.MyKeys, "key-round", "", SectionKeys},
		{"My apps", paths.MyApps, "app-window", "", SectionApps},
		{"My requests", paths.MyRequests, "inbox", "", SectionRequests},
		{"Account", paths.Account, "user", "", SectionAccount},
	}
}

func catalog() []entry {
	return []entry{
		{"Servers", paths.Registry, "server", "c", SectionRegistry},
		{"Templates", paths.Templates, "layout-template", "", SectionTemplates},
		{"Docs", paths.Docs, "book-open", "", SectionDocs},
	}
}

// inCatalog reports whether a section is part of the catalog.
func inCatalog(s Section) bool {
	return s == SectionCatalog || s == SectionRegistry || s == SectionTemplates
}

// NavTopic is the live topic of the side bar.
const NavTopic = "nav"

// live reports whether the page has parts that change while it is open: the side
// bar of every admin page, and its own topics.
func (f Frame) live() bool {
	switch f.Section {
	case SectionRegistry, SectionTemplates, SectionDocs, SectionAccount, SectionMe, SectionMyConnections, SectionKeys, SectionApps, SectionRequests, SectionNone:
		return len(f.Live) > 0
	}
	return f.Nav != nil
}

// liveURL returns the URL of the event stream of a page.
func (f Frame) liveURL() string {
	values := url.Values{"topics": append([]string{NavTopic + ":" + string(f.Tab) + "," + string(f.outside())}, f.Live...)}
	if f.Nav != nil && f.Nav.Project != nil {
		values.Set("project", f.Nav.Project.Slug)
	}
	return paths.Live + "?" + values.Encode()
}

// PageLink is a page of the navigation.
type PageLink struct{ Label, Icon, URL string }

// AdminPages returns the pages of the whole gateway: all, or those that a
// maintainer has.
func AdminPages(limited bool) []PageLink {
	var list []PageLink
	for _, e := range administration(limited) {
		list = append(list, PageLink{e.label, e.icon, e.url})
	}
	return list
}

// ProjectPages returns the pages of a project: all, or those that a maintainer has.
func ProjectPages(slug string, limited bool) []PageLink {
	var list []PageLink
	for _, e := range projectEntries() {
		if e.hidden(limited) {
			continue
		}
		list = append(list, PageLink{e.label, e.icon, e.tab.URL(slug)})
	}
	return list
}
