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
	pingInterval   = time.Second      // verifies the connection
	pingTimeout    = 5 * time.Second  // then the connection is lost
	checkInterval  = 30 * time.Second // of all revisions, in case a message was lost
)

// listen receives changes on a dedicated PostgreSQL connection until the
// connection fails or ctx ends, and returns the reason.
func (f *Feed) listen(ctx context.Context) error {
	config, err := pgx.ParseConfig(f.dsn)
	if err != nil {
		return err
	}
	config.ConnectTimeout = connectTimeout
	config.RuntimeParams["application_name"] = applicationName
	var received []Topic // appended while this goroutine waits or pings
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		received = append(received, Topic(n.Payload))
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = conn.Close(ctx) // the connection has often failed already
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	// The first check of all revisions finds changes from before the LISTEN.
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
			// The response follows all earlier messages.
			if err := ping(ctx, conn); err != nil {
				return err
			}
			pinged = asOf
		}
		if len(received) > 0 {
			topics := received
			received = nil
			if err := f.act(ctx, topics); err != nil {
				f.failed(ctx, err)
			}
		}
		if pingDue {
			f.upToDate(asOf)
		}
	}
}

// awaitMessage returns nil when a message was received or a ping is due.
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
