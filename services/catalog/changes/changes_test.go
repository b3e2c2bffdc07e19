package changes_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog/changes"
)

// bookkeeping are the fields of rows that are not content.
var bookkeeping = []string{"ID", "SourceID", "ContentHash", "CreatedAt", "UpdatedAt", "Document", "VerifiedBy", "FeaturedBy", "Locked", "Hidden"}

// changed returns copies of a row that each have another value in one field, by
// name of the field.
func changed[T any](t *testing.T) map[string]*T {
	t.Helper()
	rows := map[string]*T{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		row := new(T)
		v := reflect.ValueOf(row).Elem().FieldByIndex(f.Index)
		switch v.Interface().(type) {
		case time.Time:
			v.Set(reflect.ValueOf(time.Unix(1e9, 0)))
		case *time.Time:
			v.Set(reflect.ValueOf(new(time.Unix(1e9, 0))))
		case *bool:
			v.Set(reflect.ValueOf(new(bool)))
		case bool:
			v.SetBool(true)
		case int64:
			v.SetInt(7)
		case models.StringList:
			v.Set(reflect.ValueOf(models.StringList{"x"}))
		case models.CatalogPackages:
			v.Set(reflect.ValueOf(models.CatalogPackages{{Type: "npm", Identifier: "x"}}))
		case models.CatalogVariables:
			v.Set(reflect.ValueOf(models.CatalogVariables{{Name: "X"}}))
		default:
			v.SetString("x")
		}
		rows[f.Name] = row
	}
	return rows
}

func TestEveryFieldIsCompared(t *testing.T) {
	for name, row := range changed[models.CatalogEntry](t) {
		got := changes.OfEntry(&models.CatalogEntry{}, row)
		if want := !slices.Contains(bookkeeping, name) || name == "Hidden"; (len(got) == 1) != want {
			t.Errorf("changed members for %s of an entry = %v", name, got)
		}
	}
	for name, row := range changed[models.CatalogTemplate](t) {
		got := changes.OfTemplate(&models.CatalogTemplate{}, row)
		if want := !slices.Contains(bookkeeping, name) || name == "CreatedAt"; (len(got) == 1) != want {
			t.Errorf("changed members for %s of a template = %v", name, got)
		}
	}
}

func TestMemberValues(t *testing.T) {
	long := strings.Repeat("a", 500)
	for _, tt := range []struct{ before, after, want string }{
		{"", "b", "– → b"},
		{"a", "", "a → –"},
		{long + "x" + long, long + "y", "…" + strings.Repeat("a", 20) + "x" + strings.Repeat("a", 179) + "… → …" + strings.Repeat("a", 20) + "y"},
		{strings.Repeat("é", 200), "b", strings.Repeat("é", 200) + " → b"},
		{strings.Repeat("é", 201), "b", strings.Repeat("é", 200) + "… → b"},
	} {
		got := changes.OfEntry(&models.CatalogEntry{Description: tt.before}, &models.CatalogEntry{Description: tt.after})
		if len(got) != 1 || got[0].Name != "description" || got[0].String() != tt.want {
			t.Errorf("%q to %q = %v, want %q", tt.before, tt.after, got, tt.want)
		}
	}
	tags := func(before, after models.StringList) string {
		return fmt.Sprint(changes.OfEntry(&models.CatalogEntry{Tags: before}, &models.CatalogEntry{Tags: after}))
	}
	for want, got := range map[string]string{
		"[a → c]":       tags(models.StringList{"a", "b"}, models.StringList{"b", "c"}),
		"[– → c]":       tags(nil, models.StringList{"c"}),
		"[a, b → b, a]": tags(models.StringList{"a", "b"}, models.StringList{"b", "a"}),
		"[]":            tags(nil, models.StringList{}),
	} {
		if got != want {
			t.Errorf("tags = %s, want %s", got, want)
		}
	}
}

func entry(t *testing.T, db *gorm.DB, id string) *models.CatalogEntry {
	t.Helper()
	e := &models.CatalogEntry{ID: id, SourceID: "default", PublisherName: "p", ServerName: id, ServerType: "stdio", AuthType: "none", Status: models.CatalogActive}
	if err := db.Create(e).Error; err != nil {
		t.Fatal(err)
	}
	return e
}

func TestHistoryKeepsNewest(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		a, b := entry(t, db, "a"), entry(t, db, "b")
		record := func(e *models.CatalogEntry, from, n int) {
			t.Helper()
			rows := make([]models.CatalogChange, n)
			for i := range rows {
				rows[i] = changes.New(e.ID, time.Unix(int64(from+i), 0), "", fmt.Sprint(from+i), nil)
			}
			if err := changes.Record(db, rows); err != nil {
				t.Fatal(err)
			}
		}
		length := func(e *models.CatalogEntry, want int, newest string) {
			t.Helper()
			rows, err := changes.List(db, e.ID)
			if err != nil || len(rows) != want || want > 0 && rows[0].Action != newest {
				t.Fatalf("%s has %d changes (%v)", e.ID, len(rows), err)
			}
			var stored int64
			if err := db.Model(&models.CatalogChange{}).Where("entry_id = ?", e.ID).Count(&stored).Error; err != nil || int(stored) != want {
				t.Fatalf("%s has %d stored changes (%v)", e.ID, stored, err)
			}
		}
		record(b, 0, 2)
		record(a, 0, changes.Kept-1)
		length(a, changes.Kept-1, "98")
		record(a, changes.Kept-1, 1)
		length(a, changes.Kept, "99")
		record(a, changes.Kept, 1)
		length(a, changes.Kept, "100")
		record(a, changes.Kept+1, 450) // more than one statement
		length(a, changes.Kept, "550")
		length(b, 2, "1")
		if err := db.Delete(a).Error; err != nil {
			t.Fatal(err)
		}
		length(a, 0, "")
	})
}

func TestDecisionsNameTheirUser(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		e := entry(t, db, "a")
		before := *e
		if err := db.Model(e).Update("hidden", true).Error; err != nil {
			t.Fatal(err)
		}
		for _, kind := range []activity.Actor{{Kind: activity.ActorUser, ID: "u1"}, {}} {
			tx := db.WithContext(activity.WithActor(t.Context(), kind))
			if err := changes.Decided(tx, "catalog.hidden", time.Unix(1, 0), &before); err != nil {
				t.Fatal(err)
			}
		}
		rows, err := changes.List(db, "a")
		if err != nil || len(rows) != 2 || rows[1].Actor != "u1" || rows[0].Actor != "" || rows[0].Detail["hidden"] != "false → true" || rows[0].Action != "catalog.hidden" {
			t.Errorf("%+v (%v)", rows, err)
		}
	})
}
