package models_test

import (
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/fault"
)

// ended is a pool whose connections are terminated by end.
type ended struct {
	*gorm.DB
	admin *gorm.DB // another pool of the same database
}

func openEnded(t *testing.T) *ended {
	t.Helper()
	dsn := modelstest.Postgres(t)
	return &ended{modelstest.Open(t, dsn), modelstest.Open(t, dsn)}
}

// end fills the pool with idle connections and terminates them.
func (e *ended) end(t *testing.T) {
	t.Helper()
	pool, err := e.DB.DB()
	if err != nil {
		t.Fatal(err)
	}
	held := make(chan error, 4)
	release := make(chan struct{})
	for range cap(held) {
		go func() {
			conn, err := pool.Conn(t.Context())
			held <- err
			<-release
			if err == nil {
				_ = conn.Close()
			}
		}()
	}
	for range cap(held) {
		if err := <-held; err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	e.terminate(t)
}

// terminate terminates every backend of the database except admin's and waits
// until they are gone.
func (e *ended) terminate(t *testing.T) {
	t.Helper()
	const others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	if err := e.admin.Exec("SELECT pg_terminate_backend(pid) " + others).Error; err != nil {
		t.Fatal(err)
	}
	left := int64(1)
	for deadline := time.Now().Add(30 * time.Second); left > 0; {
		if err := e.admin.Raw("SELECT count(*) " + others).Scan(&left).Error; err != nil || time.Now().After(deadline) {
			t.Fatalf("%d backends still running (%v)", left, err)
		}
	}
}

func TestEndedConnectionsAreReplaced(t *testing.T) {
	db := openEnded(t)
	for name, work := range map[string]func() error{
		"read":  func() error { return db.Find(&[]models.Revision{}).Error },
		"write": func() error { return db.Create(&models.Revision{Topic: "write", Revision: 1}).Error },
		"bare statement": func() error {
			return db.Exec("INSERT INTO revisions (topic, revision) VALUES ('bare', 1)").Error
		},
		"transaction": func() error {
			runs := 0
			err := db.Transaction(func(tx *gorm.DB) error {
				runs++
				return tx.Create(&models.Revision{Topic: "transaction", Revision: 1}).Error
			})
			if runs != 1 {
				t.Errorf("transaction ran %d times", runs)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			db.end(t)
			if err := work(); err != nil {
				t.Errorf("after the server closed the connections: %v", err)
			}
		})
	}
	var rows int64
	if err := db.Model(&models.Revision{}).Where("topic IN ?", []string{"write", "bare", "transaction"}).Count(&rows).Error; err != nil || rows != 3 {
		t.Errorf("%d rows written, want 3 (%v)", rows, err)
	}
}

// TestEndedTransactionIsNotRepeated terminates a connection between two writes,
// and between the last write and the commit.
func TestEndedTransactionIsNotRepeated(t *testing.T) {
	db := openEnded(t)
	for name, second := range map[string]bool{"before a write": true, "before the commit": false} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			err := db.Transaction(func(tx *gorm.DB) error {
				runs++
				if err := tx.Create(&models.Revision{Topic: name, Revision: 1}).Error; err != nil {
					return err
				}
				db.terminate(t)
				if second {
					return tx.Create(&models.Revision{Topic: name + " again", Revision: 1}).Error
				}
				return nil
			})
			f := fault.From(err)
			if runs != 1 || err == nil || f.Kind != fault.KindUnavailable || f.Code != fault.CodeUnavailable || f.RetryAfter <= 0 {
				t.Errorf("%d runs, error %+v (%v)", runs, f, err)
			}
			var rows int64
			if err := db.Model(&models.Revision{}).Where("topic LIKE ?", name+"%").Count(&rows).Error; err != nil || rows != 0 {
				t.Errorf("%d rows written (%v)", rows, err)
			}
		})
	}
}

func TestUnreachableDatabaseIsUnavailable(t *testing.T) {
	dsn := modelstest.Postgres(t)
	other := modelstest.Open(t, modelstest.Postgres(t))
	db := modelstest.Open(t, dsn)
	var name string
	if err := db.Raw("SELECT current_database()").Scan(&name).Error; err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"ALTER DATABASE " + name + " ALLOW_CONNECTIONS false", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'"} {
		if err := other.Exec(statement).Error; err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		err := db.Find(&[]models.Revision{}).Error
		if f := fault.From(err); f.Kind != fault.KindUnavailable || f.RetryAfter <= 0 {
			t.Errorf("got %+v (%v)", f, err)
		}
	}
}
