package accounts

import (
	"gorm.io/gorm"

	"mcpgateway/models"
)

// Resealer seals secrets with the active key.
type Resealer interface {
	NeedsReseal(sealed string) bool
	Reseal(sealed, row string) (string, error)
}

// Reseal seals the secrets of all accounts with the active key and returns the
// number of resealed ones. It skips a secret that is changed concurrently. It
// returns the errors of keys and of the database.
func Reseal(tx *gorm.DB, keys Resealer) (resealed int, err error) {
	var shared []models.Connection
	var rows []models.PersonalConnection
	if err := tx.Find(&shared).Error; err != nil {
		return 0, err
	}
	if err := tx.Clauses(models.LockRow(tx)...).Find(&rows).Error; err != nil {
		return 0, err
	}
	for _, row := range shared {
		rows = append(rows, models.PersonalConnection{Connection: row})
	}
	for i := range rows {
		n, err := resealRow(tx, keys, &rows[i])
		if resealed += n; err != nil {
			return resealed, err
		}
	}
	return resealed, nil
}

// resealRow reseals an account. An old text is part of the condition, so that a
// newer secret is never overwritten; rows of users are locked.
func resealRow(tx *gorm.DB, keys Resealer, row *models.PersonalConnection) (resealed int, err error) {
	id := IDOf(row)
	update := func(column, old, name string) error {
		if !keys.NeedsReseal(old) {
			return nil
		}
		next, err := keys.Reseal(old, name)
		if err != nil {
			return err
		}
		done := id.where(tx.Model(id.model())).Where(column+" = ?", old).UpdateColumn(column, next)
		resealed += int(done.RowsAffected)
		return done.Error
	}
	if err := update("access_token", row.AccessToken, id.AccessTokenRow()); err != nil {
		return resealed, err
	}
	if err := update("refresh_token", row.RefreshToken, id.RefreshTokenRow()); err != nil {
		return resealed, err
	}
	n := 0
	for name, old := range row.Headers {
		if !keys.NeedsReseal(old) {
			continue
		}
		if row.Headers[name], err = keys.Reseal(old, id.HeaderRow(name)); err != nil {
			return resealed, err
		}
		n++
	}
	if n == 0 {
		return resealed, nil
	}
	return resealed + n, id.where(tx.Model(id.model())).UpdateColumn("headers", row.Headers).Error
}
