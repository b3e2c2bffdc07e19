package claims_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/inventory/claims"
	"mcpgateway/services/notify"
	"mcpgateway/services/toolset/addresses"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

// world is project p with servers that were created in the order of their ids.
type world struct {
	db      *gorm.DB
	now     time.Time
	store   *claims.Store
	servers map[string]*models.Server
}

func each(t *testing.T, aliases string, f func(t *testing.T, w *world)) {
	t.Helper()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		w := &world{db: db, now: noon, servers: map[string]*models.Server{}}
		w.store = w.process()
		must(t, db.Create(&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}).Error)
		for _, alias := range strings.Fields(aliases) {
			w.server(t, alias)
		}
		f(t, w)
	})
}

// process returns the store of another process.
func (w *world) process() *claims.Store {
	return claims.New(w.db, func() time.Time { return w.now })
}

func (w *world) server(t *testing.T, alias string) {
	t.Helper()
	row := &models.Server{
		ID: alias, ProjectID: "p", Alias: strings.ToUpper(alias), AliasFold: alias, URL: "https://a.example", Transport: models.TransportAuto, AuthType: models.UpstreamAuthNone,
		SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, TimeoutMS: 1000, MaxConcurrent: 1, ConfigVersion: 1, Enabled: true, CreatedAt: w.now, UpdatedAt: w.now,
	}
	must(t, w.db.Create(row).Error)
	w.servers[alias] = row
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func texts(uris ...string) (all []addresses.Text) {
	for _, uri := range uris {
		kind := models.ClaimURI
		if strings.Contains(uri, "{") {
			kind = models.ClaimTemplate
		}
		all = append(all, addresses.Text{Kind: kind, Text: uri})
	}
	return all
}

// show stores what a sync of a server showed. It reports whether it claimed
// anything.
func (w *world) show(t *testing.T, s *claims.Store, alias string, uris ...string) (added bool) {
	t.Helper()
	must(t, w.db.Transaction(func(tx *gorm.DB) (err error) {
		added, err = s.Add(tx, w.servers[alias], texts(uris...))
		return err
	}))
	return added
}

// stored returns the claims, oldest first, each as "alias text".
func (w *world) stored(t *testing.T) string {
	t.Helper()
	var rows []models.AddressClaim
	must(t, w.db.Order("position, alias, text").Find(&rows).Error)
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = row.Alias + " " + row.Text
	}
	return strings.Join(all, ", ")
}

func (w *world) want(t *testing.T, what, want string) {
	t.Helper()
	if got := w.stored(t); got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// revision returns the number of changes of the project.
func (w *world) revision(t *testing.T) int64 {
	t.Helper()
	c, err := notify.ChangesSince(w.db, "p", 0)
	must(t, err)
	return c.Revision
}

func TestFirstToShow(t *testing.T) {
	each(t, "b a", func(t *testing.T, w *world) {
		if !w.show(t, w.store, "b", "x://1", "x://{n}") || !w.show(t, w.store, "a", "x://1") || !w.show(t, w.store, "b", "x://0", "x://1") {
			t.Error("a new text was not claimed")
		}
		w.want(t, "claims", "b x://1, b x://{n}, a x://1, b x://0")
		before := w.revision(t)
		if w.show(t, w.store, "b", "x://1") || w.revision(t) != before {
			t.Error("known texts were claimed again")
		}
		if changes, err := notify.ChangesSince(w.db, "p", before-1); err != nil || !changes.OnlySyncs || !slices.Equal(changes.Servers, []string{"b"}) {
			t.Errorf("changes of a claim: %+v, %v", changes, err)
		}
	})
}

// TestSweepOfClaims checks that a claim ends 30 days after it was last shown, give
// or take the day for which shown_at may be old.
func TestSweepOfClaims(t *testing.T) {
	each(t, "a b", func(t *testing.T, w *world) {
		w.show(t, w.store, "a", "x://kept", "x://gone")
		w.show(t, w.store, "b", "x://kept")
		w.now = noon.Add(day)
		w.show(t, w.store, "a", "x://kept") // not stored yet
		w.now = noon.Add(31 * day)
		must(t, w.store.Sweep(t.Context()))
		w.want(t, "after 31 days", "a x://gone, a x://kept, b x://kept")
		w.now = w.now.Add(time.Millisecond)
		w.show(t, w.store, "a", "x://kept")
		before := w.revision(t)
		must(t, w.store.Sweep(t.Context()))
		w.want(t, "later", "a x://kept")
		if w.revision(t) != before+1 {
			t.Error("the project was not announced")
		}
		must(t, w.store.Sweep(t.Context()))
		if w.revision(t) != before+1 {
			t.Error("a sweep without expired claims announced the project")
		}
	})
}

// TestOutageKeepsClaims checks that claims of a server remain while its lists are
// still shown, however long its syncs fail.
func TestOutageKeepsClaims(t *testing.T) {
	each(t, "down off", func(t *testing.T, w *world) {
		for _, alias := range []string{"down", "off"} {
			w.show(t, w.store, alias, "x://"+alias)
			must(t, w.db.Create(&models.Inventory{ServerID: alias, SyncedAt: &noon, AttemptedAt: noon}).Error)
		}
		must(t, w.db.Model(&models.Server{}).Where("id = ?", "off").Update("enabled", false).Error)
		w.now = noon.Add(40 * day)
		must(t, w.store.Sweep(t.Context()))
		w.want(t, "after 40 days", "down x://down")
	})
}

// TestMaximumOfClaims checks the maximum of a project at its limit.
func TestMaximumOfClaims(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		w := &world{db: db, now: noon, servers: map[string]*models.Server{}}
		w.store = w.process()
		must(t, db.Create(&models.Project{ID: "p", Slug: "p", AuthMode: models.AuthNone, ToolExposure: models.ExposeFull}).Error)
		w.server(t, "a")
		w.server(t, "b")
		var many []string
		for i := range addresses.MaxClaims - 2 {
			many = append(many, fmt.Sprintf("x://%d", i))
		}
		w.show(t, w.store, "a", many...)
		for _, tt := range []struct {
			uris  []string
			added bool
			total int64
		}{{[]string{"y://1"}, true, addresses.MaxClaims - 1}, {[]string{"y://1", "y://2", "y://3"}, true, addresses.MaxClaims}, {[]string{"y://4"}, false, addresses.MaxClaims}} {
			var total int64
			added := w.show(t, w.store, "b", tt.uris...)
			must(t, db.Model(&models.AddressClaim{}).Count(&total).Error)
			if added != tt.added || total != tt.total {
				t.Errorf("%s: added %v, %d claims in all", tt.uris, added, total)
			}
		}
	})
}

// TestUpgradeClaims checks that enabled servers of an earlier release claim in
// the order of their aliases, once.
func TestUpgradeClaims(t *testing.T) {
	each(t, "b a", func(t *testing.T, w *world) {
		w.server(t, "off")
		must(t, w.db.Model(&models.Server{}).Where("id = ?", "off").Update("enabled", false).Error)
		for i, alias := range []string{"a", "b", "off"} {
			must(t, w.db.Create([]models.Listing{
				{ServerID: alias, Kind: models.ListingResource, Ident: "x://1", Definition: "{}"}, {ServerID: alias, Kind: models.ListingPrompt, Ident: "hello", Definition: "{}"},
			}).Error)
			must(t, w.db.Create(&models.Tool{ServerID: alias, Name: "t", Definition: fmt.Sprintf(`{"name":"t","_meta":{"ui":{"resourceUri":"ui://%d"}}}`, i), FirstSeenAt: noon, ChangedAt: noon}).Error)
		}
		must(t, w.store.Start(t.Context()))
		const want = "a ui://0, a x://1, b ui://1, b x://1"
		w.want(t, "after the start", want)
		before := w.revision(t)
		must(t, w.process().Start(t.Context()))
		w.want(t, "after another start", want)
		if w.revision(t) != before {
			t.Error("another start announced the project")
		}
	})
}

// TestServersOfOneStart checks that servers that a start finds without claims
// claim by alias, unless another server claimed in the meantime or the start is
// long ago.
func TestServersOfOneStart(t *testing.T) {
	each(t, "c b a", func(t *testing.T, w *world) {
		w.now = noon.Add(time.Second)
		must(t, w.store.Start(t.Context()))
		w.show(t, w.store, "b", "x://1")
		w.show(t, w.store, "a", "x://1")
		w.want(t, "first syncs", "a x://1, b x://1")
		w.now = w.now.Add(time.Second)
		w.server(t, "added")
		w.show(t, w.store, "added", "x://1")
		w.want(t, "an added server", "a x://1, b x://1, added x://1")
		w.show(t, w.store, "c", "x://1")
		w.want(t, "after the added server", "a x://1, b x://1, added x://1, c x://1")
	})
	each(t, "b a", func(t *testing.T, w *world) {
		w.now = noon.Add(time.Second)
		must(t, w.store.Start(t.Context()))
		w.show(t, w.store, "b", "x://1")
		w.now = w.now.Add(2 * time.Minute)
		w.show(t, w.store, "a", "x://1")
		w.want(t, "a late first sync", "b x://1, a x://1")
	})
}

func TestLeftOut(t *testing.T) {
	each(t, "a b", func(t *testing.T, w *world) {
		left := func(alias string, uris ...string) []string {
			warnings, err := w.store.Left(w.db, w.servers[alias], texts(uris...))
			must(t, err)
			return warnings
		}
		if got := left("a", "x://1", "{+uri}", "plain"); len(got) != 0 {
			t.Errorf("the only server: %s", got)
		}
		w.show(t, w.store, "a", "x://1", "plain")
		got := left("b", "x://1", "{+uri}", "plain", "other")
		if len(got) != 2 || !strings.HasPrefix(got[0], `resource template "{+uri}" was omitted`) || !strings.HasPrefix(got[1], `resource "plain" was omitted`) {
			t.Errorf("warnings: %q", got)
		}
	})
}
