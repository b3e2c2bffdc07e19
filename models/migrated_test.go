package models_test

import (
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
)

func TestOldConnectionsSurviveMigration(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		db, other := modelstest.Open(t, dsn), modelstest.Open(t, dsn)
		if err := db.Create(&models.Revision{Topic: "a", Revision: 1}).Error; err != nil {
			t.Fatal(err)
		}
		read := func() (rows []models.Revision) {
			if err := db.Find(&rows, "topic = ?", "a").Error; err != nil {
				t.Errorf("read: %v", err)
			}
			return rows
		}
		read()
		if err := other.Exec("ALTER TABLE revisions ADD COLUMN later text NOT NULL DEFAULT ''").Error; err != nil {
			t.Fatal(err)
		}
		if rows := read(); len(rows) != 1 || rows[0].Revision != 1 {
			t.Errorf("read %v", rows)
		}
	})
}
