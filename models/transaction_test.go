package models_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
)

// A large write gets a larger cache. The connection is restored afterwards,
// also on failure.
func TestLargeWriteEnlargesCache(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		cache := func(tx *gorm.DB) (pages int) {
			if tx.Name() != "sqlite" {
				return 0
			}
			if err := tx.Raw("PRAGMA cache_size").Scan(&pages).Error; err != nil {
				t.Error(err)
			}
			return pages
		}
		refused := errors.New("refused")
		for _, want := range []error{nil, refused} {
			var before, meanwhile, after int
			err := db.Transaction(func(tx *gorm.DB) error {
				before = cache(tx)
				err := models.LargeWrite(tx, func() error {
					meanwhile = cache(tx)
					return errors.Join(tx.Create(&models.Revision{Topic: "large", Revision: 1}).Error, want)
				})
				after = cache(tx)
				return err
			})
			if !errors.Is(err, want) {
				t.Errorf("LargeWrite() = %v, want %v", err, want)
			}
			if after != before || db.Name() == "sqlite" && meanwhile != -16<<10 {
				t.Errorf("cache size = %d before, %d during, %d after", before, meanwhile, after)
			}
			var rows int64
			if err := db.Model(&models.Revision{}).Where("topic = ?", "large").Count(&rows).Error; err != nil || rows != 1 {
				t.Errorf("%d rows, %v", rows, err)
			}
		}
	})
}
