package registries_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/catalog/registries"
	"mcpgateway/services/fault"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// world is a Store with a catalog in which every entry exists but "unknown".
type world struct {
	*registries.Store
	db  *gorm.DB
	now time.Time
}

func (w *world) Entry(id string) (*models.CatalogEntry, error) {
	if id == "unknown" {
		return nil, fault.NotFound("server", id)
	}
	return &models.CatalogEntry{ID: id, PublisherName: "acme", ServerName: id}, nil
}

func (w *world) clock() time.Time { return w.now }

// each runs f on both kinds of database.
func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		w := &world{db: db, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
		w.Store = registries.New(db, w, activity.NewAudit(db, w.clock), w.clock)
		f(t, w)
	})
}

// want fails the test unless err is a fault with the code, or nil for no code.
func want(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	var f *fault.Fault
	if code == "" && err != nil || code != "" && (!errors.As(err, &f) || f.Code != code) {
		t.Errorf("%s: got %v, want %q", what, err, code)
	}
}

// audited checks the actions in the audit log and forgets them.
func (w *world) audited(t *testing.T, actions ...string) {
	t.Helper()
	var rows []models.AuditEntry
	if err := w.db.Order("seq").Find(&rows).Error; err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range rows {
		got = append(got, row.Action)
	}
	if !slices.Equal(got, actions) {
		t.Errorf("audited %v, want %v", got, actions)
	}
}

func (w *world) view(t *testing.T, name string, kind models.CatalogViewKind) models.CatalogView {
	t.Helper()
	row, err := w.Create(t.Context(), registries.NewView{Name: name, Kind: kind})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// insert stores n rows directly.
func insert[T any](t *testing.T, w *world, n int, row func(i int) T) {
	t.Helper()
	rows := make([]T, n)
	for i := range rows {
		rows[i] = row(i)
	}
	if err := w.db.CreateInBatches(rows, 400).Error; err != nil {
		t.Fatal(err)
	}
}

func id(i int) string { return fmt.Sprintf("row-%05d", i) }
