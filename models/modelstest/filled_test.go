package modelstest_test

import (
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
)

func TestFilled(t *testing.T) {
	fills := 0
	d := modelstest.Filled{Fill: func(t testing.TB, dsn string) {
		fills++
		db, err := models.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if err := db.Exec("CREATE TABLE filled AS SELECT 1 AS n").Error; err != nil {
			t.Fatal(err)
		}
	}}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 2 { // the copies have a row each, whatever the other one has
		d.Each(t, func(t *testing.T, dsn string) {
			db := modelstest.Open(t, dsn)
			var n int64
			if err := db.Table("filled").Count(&n).Error; n != 1 || err != nil {
				t.Errorf("%d rows, %v", n, err)
			}
			if err := db.Exec("INSERT INTO filled VALUES (2)").Error; err != nil {
				t.Fatal(err)
			}
		})
	}
	if want := 2; !testing.Short() && fills != want {
		t.Errorf("filled %d times, want %d", fills, want)
	}
}
