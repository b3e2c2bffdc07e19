package oauthclient

import (
	"context"
	"crypto/rand"
	"errors"
	"hash/fnv"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
)

// lockSpace tells the advisory locks of connections from others: "gwco" in
// ASCII.
const lockSpace = 0x6777636f

// lockConns is the size of the pool that locks are held on. It is apart from
// the product's own, because a lock keeps its connection while an
// authorization server answers.
const lockConns = 8

// Locks make one process at a time renew the tokens of a connection: advisory
// locks on PostgreSQL, which end with the process that holds them, and leases
// on SQLite.
type Locks struct {
	db     *gorm.DB
	own    bool // db is the locks' own pool
	owner  string
	now    func() time.Time
	leases bool
}

// OpenLocks returns the locks of the database db at dsn. On PostgreSQL they
// have connections of their own, which Close closes.
func OpenLocks(ctx context.Context, db *gorm.DB, dsn string, now func() time.Time) (*Locks, error) {
	l := &Locks{db: db, owner: rand.Text(), now: now, leases: true}
	if db.Name() != "postgres" {
		return l, nil
	}
	own, err := models.Open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	pool, err := own.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(lockConns)
	pool.SetMaxIdleConns(1)
	l.db, l.own, l.leases = own, true, false
	return l, nil
}

// Close closes the locks' own connections, which also ends the locks.
func (l *Locks) Close() error {
	if !l.own {
		return nil
	}
	pool, err := l.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// hold runs work while no other process renews the tokens of the server. With
// wait it waits for its turn until the context ends; otherwise held is false
// when it is another's. The error is that of work or of the database.
func (l *Locks) hold(ctx context.Context, serverID string, wait bool, work func(context.Context) error) (held bool, err error) {
	if l.leases {
		return l.lease(ctx, serverID, wait, work)
	}
	var failed error
	err = l.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(serverID))
		key := int64(lockSpace)<<32 | int64(hash.Sum32())
		if wait {
			if err := tx.Exec("SELECT pg_advisory_xact_lock(?)", key).Error; err != nil {
				return err
			}
			held = true
		} else if err := tx.Raw("SELECT pg_try_advisory_xact_lock(?)", key).Scan(&held).Error; err != nil {
			return err
		}
		if held {
			failed = work(ctx)
		}
		return nil
	})
	if held {
		// What work wrote stands, whatever became of the lock's connection.
		return true, failed
	}
	return false, err
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
