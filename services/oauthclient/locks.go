package oauthclient

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
)

// Advisory are locks that all processes on a PostgreSQL database respect;
// locks.Locks says how.
type Advisory interface {
	Hold(ctx context.Context, name string, wait bool, work func(context.Context) error) (held bool, err error)
}

// Locks make one process at a time renew the tokens of a connection: advisory
// locks on PostgreSQL, which end with the process that holds them, and leases
// on SQLite, which a second process on the file respects too.
type Locks struct {
	db       *gorm.DB
	advisory Advisory
	owner    string
	now      func() time.Time
}

// NewLocks returns the locks of the database db, on PostgreSQL by advisory.
func NewLocks(db *gorm.DB, advisory Advisory, now func() time.Time) *Locks {
	return &Locks{db: db, advisory: advisory, owner: rand.Text(), now: now}
}

// hold runs work while no other process renews the tokens of the server. With
// wait it waits for its turn until the context ends; otherwise held is false
// when it is another's. The error is that of work or of the database.
func (l *Locks) hold(ctx context.Context, serverID string, wait bool, work func(context.Context) error) (held bool, err error) {
	if l.db.Name() == "postgres" {
		return l.advisory.Hold(ctx, "connection "+serverID, wait, work)
	}
	return l.lease(ctx, serverID, wait, work)
}

// lease is hold by a row that names the holder until a time.
func (l *Locks) lease(ctx context.Context, serverID string, wait bool, work func(context.Context) error) (bool, error) {
	// One process may hold it for two connections' sake; each holding is its own.
	owner := l.owner + rand.Text()
	for {
		got, err := l.take(ctx, serverID, owner)
		if err != nil {
			return false, err
		}
		if got {
			break
		}
		if !wait {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(leasePoll):
		}
	}
	err := work(ctx)
	ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	return true, errors.Join(err, l.db.WithContext(ended).Delete(&models.ConnectionLease{}, "server_id = ? AND owner = ?", serverID, owner).Error)
}

func (l *Locks) take(ctx context.Context, serverID, owner string) (bool, error) {
	now := l.now()
	row := models.ConnectionLease{ServerID: serverID, Owner: owner, Until: now.Add(leaseLife)}
	done := l.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "server_id"}},
		DoUpdates: clause.Assignments(map[string]any{"owner": row.Owner, "until": row.Until}),
		Where:     clause.Where{Exprs: []clause.Expression{clause.Lte{Column: clause.Column{Table: "connection_leases", Name: "until"}, Value: now}}},
	}).Create(&row)
	return done.RowsAffected == 1, done.Error
}
