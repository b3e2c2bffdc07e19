package notify

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"mcpgateway/models"
)

// pollInterval is the interval at which SQLite is polled for writes of other
// connections.
const pollInterval = 200 * time.Millisecond

// poll detects changes in a SQLite file on a dedicated connection, because
// data_version only reports writes of other connections. It returns the reason
// when the connection fails or ctx ends.
func (f *Feed) poll(ctx context.Context) (err error) {
	db, err := models.Open(ctx, f.dsn)
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var acted int64 // last processed version; versions start at 1
	for {
		asOf := time.Now()
		version, err := dataVersion(ctx, conn)
		if err != nil {
			return err
		}
		switch {
		case version != acted || f.due():
			// Failures are retried when due, not at every tick.
			f.catchUp(ctx, asOf)
			acted = version
		default:
			f.upToDate(asOf)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// dataVersion returns a number that changes after every commit of another
// connection (SQLite, PRAGMA data_version).
func dataVersion(ctx context.Context, conn *sql.Conn) (version int64, err error) {
	err = conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version)
	return version, err
}
