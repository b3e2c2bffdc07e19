package catalog

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/bulk"
	"mcpgateway/services/catalog/duplicates"
	"mcpgateway/services/fault"
	views "mcpgateway/views/admin"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/public"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Limits of the lists.
const (
	rowsPerPage      = 50
	maxPage          = 10_000
	duplicatesListed = 100
)

// Rows serves the list of all entries, with actions on many of them.
type Rows struct {
	RowsOptions
}

// RowsOptions are the dependencies of Rows.
type RowsOptions struct {
	Pages   *frame.Pages
	Catalog *catalog.Catalog
	Store   *catalog.Store
	Bulk    *bulk.Bulk
	Undo    *guard.Guards
}

// NewRows returns the handlers.
func NewRows(o RowsOptions) *Rows { return &Rows{o} }

// state is a filter of the list.
type state struct {
	value, label string
	selects      func(e *models.CatalogEntry) bool
}

func states() []state {
	return []state{
		{"", "All", func(*models.CatalogEntry) bool { return true }},
		{"hidden", "Hidden", func(e *models.CatalogEntry) bool { return e.Hidden }},
		{"edited", "Edited", func(e *models.CatalogEntry) bool { return e.Locked }},
		{"featured", "Featured", func(e *models.CatalogEntry) bool { return e.Featured }},
		{"verified", "Verified", func(e *models.CatalogEntry) bool { return e.Verified }},
	}
}

// filter is the query of the list.
type filter struct {
	text, state string
	page        int
}

func readFilter(values url.Values) filter {
	f := filter{text: strings.TrimSpace(values.Get("query")), state: values.Get("state"), page: 1}
	if n, err := strconv.Atoi(values.Get("page")); err == nil && n > 1 && n <= maxPage {
		f.page = n
	}
	return f
}

func (f filter) url() string {
	values := url.Values{}
	if f.text != "" {
		values.Set("query", f.text)
	}
	if f.state != "" {
		values.Set("state", f.state)
	}
	if f.page > 1 {
		values.Set("page", strconv.Itoa(f.page))
	}
	if len(values) == 0 {
		return paths.CatalogRows
	}
	return paths.CatalogRows + "?" + values.Encode()
}

// matching returns the entries that match a filter, and the number of those that
// match its text by state.
func (a *Rows) matching(f filter) (rows []*models.CatalogEntry, counts map[string]int, err error) {
	all, _, err := a.Catalog.Stored(f.text)
	if err != nil {
		return nil, nil, err
	}
	counts = map[string]int{}
	for _, e := range all {
		for _, s := range states() {
			if !s.selects(e) {
				continue
			}
			counts[s.value]++
			if s.value == f.state {
				rows = append(rows, e)
			}
		}
	}
	return rows, counts, nil
}

// frame returns the frame of a page below the list.
func (a *Rows) frame(c *fiber.Ctx, title string, below ...layout.Crumb) layout.Frame {
	f := a.Pages.Frame(c, title, layout.SectionCatalog)
	f.Crumbs = append([]layout.Crumb{{Label: "Catalog", URL: paths.Registry}, {Label: "Rows", URL: paths.CatalogRows}}, below...)
	return f
}

func (a *Rows) tabs() public.CatalogTabs {
	return public.CatalogTabs{Servers: len(a.Catalog.AllEntries()), Templates: len(a.Catalog.AllTemplates()), Sources: true, Current: public.TabRows}
}

// List serves GET /admin/catalog/rows: query, state (hidden, edited, featured,
// verified) and page.
func (a *Rows) List(c *fiber.Ctx) error {
	f := readFilter(values(c))
	props := views.CatalogRowsProps{Frame: a.frame(c, "Rows"), Tabs: a.tabs(), Query: f.text, Back: f.url()}
	if f.state != "" {
		props.Kept = []ui.Pair{{Name: "state", Value: f.state}}
	}
	rows, counts, err := a.matching(f)
	if err != nil {
		if props.Problem = frame.QueryError(err); props.Problem == nil {
			return err
		}
		c.Status(web.StatusOf(err))
	}
	for _, s := range states() {
		chip := ui.Chip{Label: s.label, URL: filter{text: f.text, state: s.value, page: 1}.url(), On: s.value == f.state, Count: ui.Count(counts[s.value])}
		props.Chips = append(props.Chips, chip)
	}
	last := max((len(rows)+rowsPerPage-1)/rowsPerPage, 1)
	f.page = min(f.page, last)
	from := (f.page - 1) * rowsPerPage
	to := min(from+rowsPerPage, len(rows))
	for _, e := range rows[from:to] {
		props.Rows = append(props.Rows, entryOf(e))
	}
	props.Matches, props.Back = len(rows), f.url()
	props.Pages = ui.PagesProps{
		Page: f.page, Last: last, Shown: fmt.Sprintf("%s–%s of %s", ui.Count(from+1), ui.Count(to), ui.Count(len(rows))),
		URL: func(n int) string { return filter{f.text, f.state, n}.url() },
	}
	lists, err := a.Bulk.Lists(c.UserContext())
	if err != nil {
		return err
	}
	for _, v := range lists {
		props.Lists = append(props.Lists, ui.Option{Value: v.ID, Label: v.Title})
	}
	return web.Render(c, views.CatalogRows(props))
}

func values(c *fiber.Ctx) url.Values {
	given := url.Values{}
	for name, value := range c.Queries() {
		given.Set(name, value)
	}
	return given
}

// back returns the URL of the list that a form was posted from.
func back(c *fiber.Ctx) string {
	given, err := url.Parse(web.FormValue(c, "back"))
	if err != nil || given.Path != paths.CatalogRows || given.Host != "" {
		return paths.CatalogRows
	}
	return readFilter(given.Query()).url()
}

// decision returns the posted action on the posted rows. With "all" it concerns all
// rows that match the filters of the URL in "back".
func (a *Rows) decision(c *fiber.Ctx) (bulk.Decision, error) {
	d := bulk.Decision{Action: bulk.Action(web.FormValue(c, "do")), Tag: strings.TrimSpace(web.FormValue(c, "tag")), View: web.FormValue(c, "view")}
	if web.FormValue(c, "all") == "" {
		d.IDs = frame.PostedAll(c, "row")
		return d, nil
	}
	list, err := url.Parse(back(c))
	if err != nil {
		return d, fault.Invalid("The address of the list is invalid.")
	}
	rows, _, err := a.matching(readFilter(list.Query()))
	for _, e := range rows {
		d.IDs = append(d.IDs, e.ID)
	}
	return d, err
}

// Confirm serves POST /admin/catalog/rows. The field "do" is an action of
// bulk.Action on the rows in "row", with "tag" or "view". It changes nothing.
func (a *Rows) Confirm(c *fiber.Ctx) error {
	d, err := a.decision(c)
	if err != nil {
		return frame.Failed(c, back(c), err)
	}
	rows, err := a.Bulk.Entries(c.UserContext(), d.IDs)
	if err != nil {
		return frame.Failed(c, back(c), plain(err))
	}
	words, err := a.words(c, &d)
	if err != nil {
		return frame.Failed(c, back(c), err)
	}
	props := views.CatalogConfirmProps{
		Frame: a.frame(c, "Confirm", layout.Crumb{Label: "Confirm"}), Back: back(c), Note: words.note,
		Question: fmt.Sprintf(words.question, ui.Plural(len(rows), "entry", "entries")), Label: fmt.Sprintf(words.label, ui.Plural(len(rows), "entry", "entries")),
		Hidden: []ui.Pair{{Name: "do", Value: string(d.Action)}, {Name: "tag", Value: d.Tag}, {Name: "view", Value: d.View}, {Name: "back", Value: back(c)}},
	}
	for _, e := range rows {
		props.Names = append(props.Names, e.PublisherName+"/"+e.ServerName)
		props.Hidden = append(props.Hidden, ui.Pair{Name: "row", Value: e.ID})
	}
	return web.Render(c, views.CatalogConfirm(props))
}

// plain returns a validation error as one message, for forms without fields.
func plain(err error) error {
	f := fault.From(err)
	for _, message := range f.Fields {
		return fault.Invalid("%s.", strings.ToUpper(message[:1])+message[1:])
	}
	return err
}

// bulkWords describe an action. They contain %s for the number of entries.
type bulkWords struct{ question, label, note, done string }

// words returns the words of an action. It returns an error for an unknown action,
// a missing tag and an unknown view.
func (a *Rows) words(c *fiber.Ctx, d *bulk.Decision) (bulkWords, error) {
	locks := "Edited entries no longer follow their source."
	switch d.Action {
	case bulk.Hide:
		return bulkWords{"Hide %s?", "Hide %s", "Hidden entries aren't listed and can't be opened.", "%s hidden."}, nil
	case bulk.Show:
		return bulkWords{"Show %s?", "Show %s", "", "%s shown."}, nil
	case bulk.Feature:
		return bulkWords{"Feature %s?", "Feature %s", "Featured entries are listed first.", "%s featured."}, nil
	case bulk.Unfeature:
		return bulkWords{"Unfeature %s?", "Unfeature %s", "", "%s unfeatured."}, nil
	case bulk.AddTag, bulk.RemoveTag:
		if d.Tag == "" {
			return bulkWords{}, fault.Invalid("Enter a tag.")
		}
		tag := strings.ReplaceAll(ui.Clean(d.Tag), "%", "%%")
		if d.Action == bulk.AddTag {
			return bulkWords{"Add the tag " + tag + " to %s?", "Add the tag to %s", locks, "%s tagged."}, nil
		}
		return bulkWords{"Remove the tag " + tag + " from %s?", "Remove the tag from %s", locks, "%s untagged."}, nil
	case bulk.Approve, bulk.Withdraw:
		return a.listWords(c, d)
	}
	return bulkWords{}, fault.Invalid("Choose an action.")
}

func (a *Rows) listWords(c *fiber.Ctx, d *bulk.Decision) (bulkWords, error) {
	lists, err := a.Bulk.Lists(c.UserContext())
	if err != nil {
		return bulkWords{}, err
	}
	for _, v := range lists {
		name := strings.ReplaceAll(ui.Clean(v.Title), "%", "%%")
		switch {
		case v.ID != d.View:
		case d.Action == bulk.Approve:
			return bulkWords{"Approve %s into the list " + name + "?", "Approve %s", "Editors that use the list will show them.", "%s approved."}, nil
		default:
			return bulkWords{"Withdraw %s from the list " + name + "?", "Withdraw %s", "Editors that use the list will no longer show them.", "%s withdrawn."}, nil
		}
	}
	return bulkWords{}, fault.Invalid("Choose a list.")
}

// Apply serves POST /admin/catalog/rows/apply, with the fields of Confirm. It offers
// to undo the action.
func (a *Rows) Apply(c *fiber.Ctx) error {
	d, err := a.decision(c)
	if err != nil {
		return frame.Failed(c, back(c), err)
	}
	words, err := a.words(c, &d)
	if err != nil {
		return frame.Failed(c, back(c), err)
	}
	changed, err := a.Bulk.Apply(c.UserContext(), d)
	if err != nil {
		return frame.Failed(c, back(c), plain(err))
	}
	flash := layout.Flash{Tone: "ok", Text: fmt.Sprintf(words.done, ui.Plural(len(changed), "entry", "entries"))}
	if len(changed) == 0 {
		flash.Text = "Nothing to change."
	} else {
		form := url.Values{"do": {string(d.Action.Opposite())}, "tag": {d.Tag}, "view": {d.View}, "row": changed, "back": {back(c)}}
		if flash.Undo, err = a.Undo.KeepUndo(c, paths.CatalogRowsApply, form); err != nil {
			return err
		}
	}
	frame.PutFlash(c, flash)
	return c.Redirect(back(c), fiber.StatusSeeOther)
}

// Duplicates serves GET /admin/catalog/duplicates.
func (a *Rows) Duplicates(c *fiber.Ctx) error {
	groups := duplicates.Find(a.Catalog.AllEntries())
	props := views.CatalogDuplicatesProps{Frame: a.frame(c, "Duplicates", layout.Crumb{Label: "Duplicates"}), Tabs: a.tabs(), More: max(len(groups)-duplicatesListed, 0)}
	for _, g := range groups[:min(len(groups), duplicatesListed)] {
		shown := views.CatalogDuplicate{Value: g.Value}
		for _, e := range g.Entries {
			shown.Rows = append(shown.Rows, entryOf(e))
		}
		props.Groups = append(props.Groups, shown)
	}
	return web.Render(c, views.CatalogDuplicates(props))
}
