package notify

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	connectTimeout = 10 * time.Second
	closeTimeout   = 2 * time.Second
	pingInterval   = time.Second      // proves that the connection still hears
	pingTimeout    = 5 * time.Second  // an unanswered ping is a lost connection
	checkInterval  = 30 * time.Second // of all revisions, should a message be lost
)

// applicationName names the connection in pg_stat_activity.
const applicationName = "gateway change feed"

// listen hears of changes on a PostgreSQL connection of its own until the
// connection fails or the context ends, and returns why.
func (f *Feed) listen(ctx context.Context) error {
	config, err := pgx.ParseConfig(f.dsn)
	if err != nil {
		return err
	}
	config.ConnectTimeout = connectTimeout
	config.RuntimeParams["application_name"] = applicationName
	var heard []Topic // filled while this goroutine waits or pings
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		heard = append(heard, Topic(n.Payload))
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = conn.Close(ctx) // often it is the failed connection
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	// Changes from before the LISTEN are found by the first look at all
	// revisions.
	var checked, pinged time.Time
	for {
		if f.due() || time.Since(checked) >= checkInterval {
			checked = time.Now()
			f.catchUp(ctx, checked)
		}
		if err := awaitMessage(ctx, conn); err != nil {
			return err
		}
		asOf := time.Now()
		pingDue := time.Since(pinged) >= pingInterval
		if pingDue {
			// The answer follows every message that was sent before it.
			if err := ping(ctx, conn); err != nil {
				return err
			}
			pinged = asOf
		}
		if len(heard) > 0 {
			topics := heard
			heard = nil
			if err := f.act(ctx, topics); err != nil {
				f.failed(ctx, err)
			}
		}
		if pingDue {
			f.upToDate(asOf)
		}
	}
}

// awaitMessage returns nil when a message has come or it is time to ping.
func awaitMessage(ctx context.Context, conn *pgx.Conn) error {
	wait, cancel := context.WithTimeout(ctx, pingInterval)
	defer cancel()
	err := conn.PgConn().WaitForNotification(wait)
	if err != nil && ctx.Err() == nil && errors.Is(wait.Err(), context.DeadlineExceeded) && !conn.IsClosed() {
		return nil
	}
	return err
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return conn.Ping(ctx)
}
