package layout

import (
	"context"
	"io"

	"github.com/a-h/templ"

	"mcpgateway/views/paths"
)

// Frame holds what Shell and Page need for every page. Props of pages embed it.
type Frame struct {
	Assets       Assets
	Title        string          // of the window, without the product's name
	Description  string          // for search engines; may be empty
	CanonicalURL string          // absolute; may be empty
	Head         templ.Component // further elements of the head; may be nil
	Person       *Person         // nil when no user is signed in
	Section      Section
	Tab          ProjectTab      // the page of the project; empty for pages outside of projects
	Nav          *Nav            // of the side bar; nil when no user is signed in
	Crumbs       []Crumb         // where the page is, the page itself last
	Bar          templ.Component // at most two buttons at the end of the bar; may be nil
	Wide         Width
	Live         []string // topics of the parts that change while the page is open
	Controls     bool     // a maintainer may change the project of the page
	Banners      []Banner
	Flash        *Flash // the result of the last action; may be nil
}

// Width is the width of a page's content.
type Width string

// The widths besides the usual one: Full for editors, Text for forms and prose.
const (
	Full Width = "full"
	Text Width = "text"
)

// Crumb is a step of the path to a page. The last one has no URL.
type Crumb struct{ Label, URL string }

// CSRF returns the token for the forms of the page; it is empty when no
// user is signed in.
func (f Frame) CSRF() string {
	if f.Person == nil {
		return ""
	}
	return f.Person.CSRF
}

// Admin reports whether the page is shown to a user who may change it: an
// administrator, or a maintainer of its project. Others see the same page without
// controls.
func (f Frame) Admin() bool { return f.Owner() || f.Person != nil && f.Controls }

// Owner reports whether the page is shown to an administrator. Parts that
// maintainers can't change are left out for others.
func (f Frame) Owner() bool { return f.Person != nil && f.Person.Role == RoleAdmin }

// Limited reports whether the page is shown to a maintainer who has neither the
// global pages nor those about people.
func (f Frame) Limited() bool { return f.Nav != nil && f.Nav.Limited }

// RoleAdmin is the role that may change things, RoleMember the one that has no
// access to the admin pages.
const (
	RoleAdmin  = "admin"
	RoleMember = "member"
)

// Person is the signed-in user.
type Person struct {
	Name  string // may be empty
	Email string
	Role  string // admin, viewer or member
	CSRF  string // the token of the session's forms
}

// called returns the name, or the email address of a user without a name.
func (p Person) called() string {
	if p.Name == "" {
		return p.Email
	}
	return p.Name
}

// Member reports whether the page is shown to a member outside of the
// administration. Maintainers have its side bar on the pages of their projects.
func (f Frame) Member() bool { return f.Person != nil && f.Person.Role == RoleMember && f.Nav == nil }

// home returns the first page of the user.
func (f Frame) home() string {
	if f.Member() {
		return paths.Me
	}
	return paths.Home
}

// Section is the entry of the navigation that a page belongs to.
type Section string

// The sections of the navigation. SectionNone marks no entry.
const (
	SectionNone        Section = ""
	SectionProjects    Section = "projects"
	SectionConnections Section = "connections"
	SectionCatalog     Section = "catalog"
	SectionAudit       Section = "audit"
	SectionAlerts      Section = "alerts"
	SectionPeople      Section = "people"
	SectionSettings    Section = "settings"
	SectionRegistry    Section = "registry"
	SectionTemplates   Section = "templates"
	SectionDocs        Section = "docs"
	SectionAccount     Section = "account"
	SectionMe          Section = "me"
	SectionKeys        Section = "keys"

	SectionMyConnections Section = "my-connections"
	SectionApps          Section = "apps"
	SectionRequests      Section = "requests"
)

// Banner is a persistent message above every page.
type Banner struct {
	Tone      string // "", "ok", "warn" or "bad"
	Text      string
	LinkLabel string // with LinkURL, a link to the next step; may be empty
	LinkURL   string
}

// Flash is the result of an action, shown once on the page that follows it.
type Flash struct {
	Tone      string // "", "ok", "warn" or "bad"
	Text      string
	LinkLabel string `json:",omitempty"` // with LinkURL, a link to the next step
	LinkURL   string `json:",omitempty"`
	Undo      string `json:",omitempty"` // token of the form that takes the action back
}

// Shell renders its children in the frame of the admin pages: the side bar, banners
// and the result of the last action.
func Shell(f Frame) templ.Component { return framed(f, shell(f)) }

// Page renders its children in the frame of the public pages: the top bar, banners
// and the result of the last action.
func Page(f Frame) templ.Component { return framed(f, page(f)) }

// ForPerson returns Shell for signed-in users, and Page for visitors.
func ForPerson(f Frame) templ.Component {
	if f.Person == nil {
		return Page(f)
	}
	return Shell(f)
}

// Fragment renders a part of a page outside of a frame.
func Fragment(assets Assets, c templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return c.Render(WithAssets(ctx, assets), w)
	})
}

// framed renders c with the assets of the frame in its context, where Icon
// finds them.
func framed(f Frame, c templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return c.Render(WithAssets(ctx, f.Assets), w)
	})
}
