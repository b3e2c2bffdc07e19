package bulk_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog"
	"mcpgateway/services/catalog/bulk"
	"mcpgateway/services/catalog/changes"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// published counts the published changes.
type published struct{ n int }

func (p *published) Publish(context.Context, ...notify.Topic) error {
	p.n++
	return nil
}

type world struct {
	db   *gorm.DB
	bulk *bulk.Bulk
	feed *published
}

// each runs f on both databases, with n entries named p/s000 and so on.
func each(t *testing.T, n int, f func(t *testing.T, w *world)) {
	t.Helper()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
		w := &world{db: db, feed: &published{}}
		w.bulk = bulk.New(db, catalog.NewStore(db, nil, activity.NewAudit(db, now), w.feed, now), now)
		rows := make([]models.CatalogEntry, n)
		for i := range rows {
			rows[i] = models.CatalogEntry{
				ID: fmt.Sprintf("e%03d", i), SourceID: catalog.SourceFile, PublisherName: "p", ServerName: fmt.Sprintf("s%03d", i), ServerType: "stdio", AuthType: "none",
				Status: models.CatalogActive, Tags: models.StringList{"old"}, UpdatedAt: now().Add(-time.Hour), Document: "{}",
			}
		}
		if err := db.CreateInBatches(rows, 200).Error; err != nil {
			t.Fatal(err)
		}
		if err := db.Create(&[]models.CatalogView{{ID: "v1", Name: "approved", Kind: models.ViewList}, {ID: "v2", Name: "query", Kind: models.ViewQuery}}).Error; err != nil {
			t.Fatal(err)
		}
		f(t, w)
	})
}

func numbered(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("e%03d", i)
	}
	return ids
}

func (w *world) entry(t *testing.T, id string) models.CatalogEntry {
	t.Helper()
	var e models.CatalogEntry
	if err := w.db.First(&e, "id = ?", id).Error; err != nil {
		t.Fatal(err)
	}
	return e
}

func (w *world) audited(t *testing.T) []models.AuditEntry {
	t.Helper()
	var rows []models.AuditEntry
	if err := w.db.Order("seq").Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestDecisionsAndTheirOpposites(t *testing.T) {
	each(t, 3, func(t *testing.T, w *world) {
		two := []string{"e001", "e000", "e001"}
		for _, tt := range []struct {
			decision bulk.Decision
			done     func(e models.CatalogEntry) bool
		}{
			{bulk.Decision{Action: bulk.Hide, IDs: two}, func(e models.CatalogEntry) bool { return e.Hidden }},
			{bulk.Decision{Action: bulk.Feature, IDs: two}, func(e models.CatalogEntry) bool { return e.Featured && e.FeaturedBy == "admin" }},
			{bulk.Decision{Action: bulk.AddTag, IDs: two, Tag: " New "}, func(e models.CatalogEntry) bool { return len(e.Tags) == 2 && e.Locked }},
			{bulk.Decision{Action: bulk.RemoveTag, IDs: two, Tag: "old"}, func(e models.CatalogEntry) bool { return len(e.Tags) == 0 && e.Locked }},
		} {
			d := tt.decision
			changed, err := w.bulk.Apply(t.Context(), d)
			if err != nil || !slices.Equal(changed, []string{"e000", "e001"}) || !tt.done(w.entry(t, "e000")) || !tt.done(w.entry(t, "e001")) || tt.done(w.entry(t, "e002")) {
				t.Fatalf("%s = %v (%v)", d.Action, changed, err)
			}
			if e := w.entry(t, "e000"); e.Document != "{}" || !e.UpdatedAt.Equal(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) {
				t.Errorf("%s left %+v", d.Action, e)
			}
			if again, err := w.bulk.Apply(t.Context(), d); err != nil || len(again) != 0 {
				t.Errorf("%s again = %v (%v)", d.Action, again, err)
			}
			d.Action = d.Action.Opposite()
			if back, err := w.bulk.Apply(t.Context(), d); err != nil || len(back) != 2 || tt.done(w.entry(t, "e000")) {
				t.Errorf("%s = %v (%v)", d.Action, back, err)
			}
		}
		rows := w.audited(t)
		if len(rows) != 8 || w.feed.n != 8 {
			t.Fatalf("%d audit entries, %d published changes", len(rows), w.feed.n)
		}
		if diff := cmp.Diff(models.StringMap{"action": "hide", "rows": "p/s000, p/s001"}, rows[0].Detail); diff != "" || rows[0].Action != "catalog.rows_changed" {
			t.Errorf("audit entry (-want +got):\n%s", diff)
		}
		history, err := changes.List(w.db, "e000")
		if err != nil || len(history) != 8 || history[7].Action != "bulk.hide" || history[7].Detail["hidden"] != "false → true" {
			t.Errorf("history = %+v (%v)", history, err)
		}
	})
}

func TestApprovedRowsAreInTheirList(t *testing.T) {
	each(t, 3, func(t *testing.T, w *world) {
		listed := func() (ids []string) {
			if err := w.db.Model(&models.CatalogViewEntry{}).Order("entry_id").Pluck("entry_id", &ids).Error; err != nil {
				t.Fatal(err)
			}
			return ids
		}
		lists, err := w.bulk.Lists(t.Context())
		if err != nil || len(lists) != 1 || lists[0].ID != "v1" {
			t.Fatalf("lists = %+v (%v)", lists, err)
		}
		for _, tt := range []struct {
			action        bulk.Action
			ids           []string
			changed, rest []string
		}{
			{bulk.Approve, []string{"e000", "e001"}, []string{"e000", "e001"}, []string{"e000", "e001"}},
			{bulk.Approve, []string{"e001", "e002"}, []string{"e002"}, []string{"e000", "e001", "e002"}},
			{bulk.Withdraw, []string{"e000", "e002"}, []string{"e000", "e002"}, []string{"e001"}},
			{bulk.Withdraw, []string{"e000"}, nil, []string{"e001"}},
		} {
			changed, err := w.bulk.Apply(t.Context(), bulk.Decision{Action: tt.action, IDs: tt.ids, View: "v1"})
			if err != nil || !slices.Equal(changed, tt.changed) || !slices.Equal(listed(), tt.rest) {
				t.Errorf("%s %v = %v, list %v (%v)", tt.action, tt.ids, changed, listed(), err)
			}
		}
		if history, err := changes.List(w.db, "e000"); err != nil || len(history) != 2 || history[1].Detail["view"] != "– → approved" {
			t.Errorf("history = %+v (%v)", history, err)
		}
		if rows := w.audited(t); len(rows) != 3 || rows[0].Detail["view"] != "approved" {
			t.Errorf("audit log = %+v", rows)
		}
	})
}

func TestLimitOfRows(t *testing.T) {
	each(t, bulk.MaxRows+1, func(t *testing.T, w *world) {
		for _, n := range []int{0, bulk.MaxRows - 1, bulk.MaxRows, bulk.MaxRows + 1} {
			_, err := w.bulk.Entries(t.Context(), numbered(n))
			if ok := n > 0 && n <= bulk.MaxRows; ok != (err == nil) || !ok && !fault.Is(err, fault.CodeValidationFailed) {
				t.Errorf("%d entries: %v", n, err)
			}
		}
		if _, err := w.bulk.Apply(t.Context(), bulk.Decision{Action: bulk.Hide, IDs: numbered(bulk.MaxRows + 1)}); !fault.Is(err, fault.CodeValidationFailed) {
			t.Errorf("decision about too many: %v", err)
		}
		if w.entry(t, "e000").Hidden {
			t.Error("a refused decision changed an entry")
		}
		changed, err := w.bulk.Apply(t.Context(), bulk.Decision{Action: bulk.Hide, IDs: numbered(bulk.MaxRows)})
		if err != nil || len(changed) != bulk.MaxRows {
			t.Fatalf("%d changed (%v)", len(changed), err)
		}
		// The audit entry names all of them.
		named := 0
		for field, value := range w.audited(t)[0].Detail {
			if strings.HasPrefix(field, "rows") {
				named += strings.Count(value, "p/s")
			}
		}
		if named != bulk.MaxRows {
			t.Errorf("%d rows are named", named)
		}
	})
}

func TestTagLimits(t *testing.T) {
	each(t, 2, func(t *testing.T, w *world) {
		var tags models.StringList
		for i := range 29 {
			tags = append(tags, fmt.Sprintf("t%02d", i))
		}
		if err := w.db.Model(&models.CatalogEntry{}).Where("id = ?", "e001").Update("tags", tags).Error; err != nil {
			t.Fatal(err)
		}
		add := func(tag string) error {
			_, err := w.bulk.Apply(t.Context(), bulk.Decision{Action: bulk.AddTag, IDs: []string{"e000", "e001"}, Tag: tag})
			return err
		}
		if err := add(strings.Repeat("x", 50)); err != nil {
			t.Errorf("a tag of 50 characters as the 30th: %v", err)
		}
		if err := add("t05"); err != nil {
			t.Errorf("a tag that one of the entries with 30 has: %v", err)
		}
		for tag, want := range map[string]string{strings.Repeat("x", 51): "at most 50 characters", "more": "p/s001: use at most 30 tags"} {
			if err := add(tag); !fault.Is(err, fault.CodeValidationFailed) || !strings.Contains(fmt.Sprint(fault.From(err).Fields), want) {
				t.Errorf("tag %q: %v, want %q", tag, err, want)
			}
		}
		if first, second := w.entry(t, "e000"), w.entry(t, "e001"); len(first.Tags) != 3 || len(second.Tags) != 30 {
			t.Errorf("%d and %d tags, want 3 and 30", len(first.Tags), len(second.Tags))
		}
	})
}

func TestInvalidDecisions(t *testing.T) {
	each(t, 1, func(t *testing.T, w *world) {
		one := []string{"e000"}
		for name, tt := range map[string]struct {
			decision bulk.Decision
			code     fault.Code
		}{
			"unknown action":  {bulk.Decision{Action: "delete", IDs: one}, fault.CodeValidationFailed},
			"no tag":          {bulk.Decision{Action: bulk.AddTag, IDs: one, Tag: " "}, fault.CodeValidationFailed},
			"unknown row":     {bulk.Decision{Action: bulk.Hide, IDs: []string{"e000", "x"}}, fault.CodeNotFound},
			"unknown view":    {bulk.Decision{Action: bulk.Approve, IDs: one, View: "x"}, fault.CodeNotFound},
			"view of a query": {bulk.Decision{Action: bulk.Approve, IDs: one, View: "v2"}, fault.CodeNotFound},
		} {
			if _, err := w.bulk.Apply(t.Context(), tt.decision); !fault.Is(err, tt.code) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(w.audited(t)) != 0 || w.feed.n != 0 {
			t.Error("an invalid decision left a trace")
		}
	})
}
