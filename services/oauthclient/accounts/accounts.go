// Package accounts stores the gateway's accounts at upstream servers: those that
// all users share, and each user's own. It chooses their table and the rows that
// their secrets are sealed to.
package accounts

import (
	"errors"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
)

// ErrOutdated reports that a row was changed since it was read.
var ErrOutdated = errors.New("connection was changed concurrently")

// ID identifies an account.
type ID struct {
	ServerID string
	UserID   string // empty for the account that all users share
}

// IDOf returns the ID of a stored account.
func IDOf(row *models.PersonalConnection) ID { return ID{row.ServerID, row.UserID} }

// IsPersonal reports whether it is a user's own account.
func (a ID) IsPersonal() bool { return a.UserID != "" }

// String returns the server's ID, and the user's after a slash.
func (a ID) String() string {
	if a.UserID == "" {
		return a.ServerID
	}
	return a.ServerID + "/" + a.UserID
}

// Topic returns the topic of the account's changes.
func (a ID) Topic() notify.Topic {
	if a.UserID == "" {
		return notify.Connection(a.ServerID)
	}
	return notify.PersonalConnection(a.ServerID, a.UserID)
}

// Lock returns the name of the lock for refreshing the account's tokens.
func (a ID) Lock() string { return "connection " + a.String() }

// AccessTokenRow returns the row name to which the access token is sealed.
func (a ID) AccessTokenRow() string { return a.column("access_token") }

// RefreshTokenRow returns the row name to which the refresh token is sealed.
func (a ID) RefreshTokenRow() string { return a.column("refresh_token") }

// HeaderRow returns the row name to which the value of a header is sealed.
func (a ID) HeaderRow(name string) string { return a.column("headers/" + name) }

func (a ID) column(name string) string {
	table := "connections/"
	if a.UserID != "" {
		table = "personal_connections/"
	}
	return table + a.String() + "/" + name
}

// model returns an empty row of the account's table.
func (a ID) model() any {
	if a.UserID == "" {
		return &models.Connection{}
	}
	return &models.PersonalConnection{}
}

// where selects the account's row.
func (a ID) where(db *gorm.DB) *gorm.DB {
	if a.UserID == "" {
		return db.Where("server_id = ?", a.ServerID)
	}
	return db.Where("server_id = ? AND user_id = ?", a.ServerID, a.UserID)
}

// Load reads an account. The shared one is of the kind oauth and has no user.
// found is false if it was never stored; then the row is empty except for its
// ID and kind. The error is the database's.
func Load(db *gorm.DB, id ID) (row models.PersonalConnection, found bool, err error) {
	row = models.PersonalConnection{Kind: models.KindOAuth, UserID: id.UserID}
	if id.IsPersonal() {
		err = id.where(db).First(&row).Error
	} else {
		err = id.where(db).First(&row.Connection).Error
	}
	if errors.Is(err, gorm.ErrRecordNotFound) {
		row.ServerID = id.ServerID
		return row, false, nil
	}
	return row, err == nil, err
}

// Store inserts or updates an account whose version was read; 0 means that it
// had no row. It returns ErrOutdated if the row has another version, NOT_FOUND
// if the server or the user is gone, and the database's error.
func Store(tx *gorm.DB, row *models.PersonalConnection, read int64) error {
	id := IDOf(row)
	var model any = row
	if !id.IsPersonal() {
		model = &row.Connection
	}
	if read == 0 {
		err := tx.Create(model).Error
		switch {
		case errors.Is(err, gorm.ErrDuplicatedKey):
			return ErrOutdated
		case errors.Is(err, gorm.ErrForeignKeyViolated):
			return fault.NotFound("server", row.ServerID)
		}
		return err
	}
	done := id.where(tx.Model(model)).Where("version = ?", read).Select("*").Omit("server_id", "user_id", "created_at", "used_at").Updates(model)
	if done.Error == nil && done.RowsAffected == 0 {
		return ErrOutdated
	}
	return done.Error
}

// NextVersion returns the version of a row after a change at the time. The first
// version depends on the time, so that a row that was deleted and stored again
// never has a version of the earlier one.
func NextVersion(read int64, now time.Time) int64 {
	if read == 0 {
		return now.UnixMilli()
	}
	return read + 1
}

// Delete deletes a server's accounts of users, or its shared one, with their open
// authorizations. It returns the topics of the deleted ones, and the database's
// error.
func Delete(tx *gorm.DB, serverID string, personal bool) ([]notify.Topic, error) {
	tx = tx.Session(&gorm.Session{NewDB: true})
	if !personal {
		err := tx.Delete(&models.ConnectionFlow{}, "server_id = ? AND user_id = ''", serverID).Error
		if err == nil {
			err = tx.Delete(&models.Connection{}, "server_id = ?", serverID).Error
		}
		return []notify.Topic{notify.Connection(serverID)}, err
	}
	var users []string
	if err := tx.Model(&models.PersonalConnection{}).Where("server_id = ?", serverID).Pluck("user_id", &users).Error; err != nil {
		return nil, err
	}
	topics := make([]notify.Topic, 0, len(users))
	for _, user := range users {
		topics = append(topics, notify.PersonalConnection(serverID, user))
	}
	err := tx.Delete(&models.ConnectionFlow{}, "server_id = ? AND user_id <> ''", serverID).Error
	if err == nil {
		err = tx.Delete(&models.PersonalConnection{}, "server_id = ?", serverID).Error
	}
	return topics, err
}

// DeleteOne deletes a user's account, and reports whether it still had the
// version of the row. The error is the database's.
func DeleteOne(tx *gorm.DB, row *models.PersonalConnection) (deleted bool, err error) {
	done := IDOf(row).where(tx).Where("version = ?", row.Version).Delete(&models.PersonalConnection{})
	return done.RowsAffected > 0, done.Error
}
