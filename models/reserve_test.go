package models_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
)

const (
	wholeReserve = 4 << 20
	reserveSlice = 256 << 10
)

// fillUp limits the database to its current number of pages.
func fillUp(t *testing.T, db *gorm.DB) (allow func(pages int)) {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1) // the limit is per connection
	var pages int
	if err := db.Raw("PRAGMA page_count").Scan(&pages).Error; err != nil {
		t.Fatal(err)
	}
	allow = func(more int) {
		if err := db.Exec("PRAGMA max_page_count = " + strconv.Itoa(pages+more)).Error; err != nil {
			t.Fatal(err)
		}
	}
	allow(0)
	return allow
}

func big(topic string) *models.Revision {
	return &models.Revision{Topic: topic + strings.Repeat("x", 20<<10), Revision: 1}
}

func TestFullDiskIsReported(t *testing.T) {
	db := modelstest.Open(t, modelstest.SQLite(t))
	fillUp(t, db)
	for name, write := range map[string]func() error{
		"statement":   func() error { return db.Create(big("a")).Error },
		"transaction": func() error { return db.Transaction(func(tx *gorm.DB) error { return tx.Create(big("b")).Error }) },
	} {
		err := write()
		if f := fault.From(err); f.Kind != fault.KindStorageFull || f.Code != fault.CodeStorageFull {
			t.Errorf("%s: got %+v (%v)", name, f, err)
		}
	}
}

// TestEssentialWritesUseReserve allows a full database more pages for each freed
// slice, like a disk.
func TestEssentialWritesUseReserve(t *testing.T) {
	dsn := modelstest.SQLite(t)
	file := strings.TrimPrefix(dsn, "sqlite:") + "-reserve"
	if err := os.Remove(file); err != nil { // it takes no space
		t.Fatal(err)
	}
	db := modelstest.Open(t, dsn)
	size := func() int64 {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if err := models.KeepReserve(db); err != nil || size() != wholeReserve {
		t.Fatalf("reserve has %d bytes (%v)", size(), err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the reserve = %v (%v)", info.Mode(), err)
	}
	allow := fillUp(t, db)
	if err := db.Create(big("ordinary")).Error; err == nil || size() != wholeReserve {
		t.Errorf("%d bytes of the reserve left after an ordinary write (%v)", size(), err)
	}
	for _, tt := range []struct {
		name   string
		needs  int // slices
		left   int64
		wantOK bool
	}{
		{"one slice", 1, wholeReserve - reserveSlice, true},
		{"none", 0, wholeReserve - reserveSlice, true},
		{"all but one", 14, reserveSlice, true},
		{"last slice", 1, 0, true},
		{"empty reserve", 1, 0, false},
	} {
		before := size()
		needed := errors.New("not enough is free")
		err := models.Essential(db, func() error {
			if freed := int((before - size()) / reserveSlice); freed < tt.needs {
				allow(0)
				if err := db.Create(big("essential")).Error; err != nil {
					return err
				}
				return needed
			}
			allow(100)
			return db.Create(big(tt.name)).Error
		})
		allow(0)
		if (err == nil) != tt.wantOK || size() != tt.left || errors.Is(err, needed) {
			t.Errorf("%s: %v, %d bytes left, want %d", tt.name, err, size(), tt.left)
		}
	}
	if err := models.KeepReserve(db); err != nil || size() != wholeReserve {
		t.Errorf("reserve refilled to %d bytes (%v)", size(), err)
	}
	other := errors.New("another failure")
	if err := models.Essential(db, func() error { return other }); !errors.Is(err, other) || size() != wholeReserve {
		t.Errorf("%d bytes left after another failure (%v)", size(), err)
	}
}
