package locks_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/background/leaktest"
	"mcpgateway/services/locks"
)

// holderVariable is the environment variable that makes this test binary a
// process that holds a lock of the database.
const holderVariable = "LOCKS_HOLDER"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(holderVariable); dsn != "" {
		fmt.Println(holdForever(dsn))
		os.Exit(1)
	}
	leaktest.Main(m)
}

func holdForever(dsn string) error {
	db, err := models.Open(context.Background(), dsn)
	if err != nil {
		return err
	}
	l, err := locks.Open(context.Background(), db, dsn, nil)
	if err != nil {
		return err
	}
	_, err = l.Hold(context.Background(), "shared", true, func(context.Context) error {
		fmt.Println("held")
		select {}
	})
	return err
}

// replicas returns the locks of several processes on one database, and the
// database.
func replicas(t *testing.T, dsn string, n int) ([]*locks.Locks, *gorm.DB) {
	t.Helper()
	db := modelstest.Open(t, dsn)
	all := make([]*locks.Locks, n)
	for i := range all {
		l, err := locks.Open(t.Context(), db, dsn, nil)
		if err != nil {
			t.Fatal(err)
		}
		l.OwnEvery(time.Millisecond)
		t.Cleanup(func() {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
		all[i] = l
	}
	return all, db
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// holder holds a lock until end is called.
type holder struct {
	letGo context.CancelFunc
	ended chan error
}

func hold(t *testing.T, l *locks.Locks, name string) holder {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := holder{cancel, make(chan error, 1)}
	holds := make(chan struct{})
	go func() {
		_, err := l.Hold(within(t), name, true, func(context.Context) error { close(holds); <-ctx.Done(); return nil })
		h.ended <- err
	}()
	select {
	case <-holds:
	case err := <-h.ended:
		t.Fatalf("lock is not held: %v", err)
	}
	return h
}

func (h holder) end(t *testing.T) {
	t.Helper()
	h.letGo()
	if err := <-h.ended; err != nil {
		t.Error(err)
	}
}

func TestHoldIsExclusive(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		all, _ := replicas(t, dsn, 3)
		var inside, done atomic.Int64
		var group sync.WaitGroup
		for i := range 30 {
			group.Go(func() {
				held, err := all[i%len(all)].Hold(within(t), "one", true, func(context.Context) error {
					if n := inside.Add(1); n != 1 {
						t.Errorf("%d concurrent holders", n)
					}
					done.Add(1)
					inside.Add(-1)
					return nil
				})
				if !held || err != nil {
					t.Errorf("held %v: %v", held, err)
				}
			})
		}
		group.Wait()
		if n := done.Load(); n != 30 {
			t.Errorf("%d holders, want 30", n)
		}
	})
}

func TestHoldWaits(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		all, _ := replicas(t, dsn, 2)
		one, other := all[0], all[len(all)-1]
		h := hold(t, one, "taken")
		never := func(context.Context) error { t.Error("lock was held twice"); return nil }
		for _, l := range all {
			if held, err := l.Hold(within(t), "taken", false, never); held || err != nil {
				t.Errorf("without waiting: held %v: %v", held, err)
			}
		}
		ended, cancel := context.WithCancel(within(t))
		cancel()
		if held, err := other.Hold(ended, "taken", true, never); held || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled context: held %v: %v", held, err)
		}
		if held, err := other.Hold(within(t), "another", false, func(context.Context) error { return nil }); !held || err != nil {
			t.Errorf("another lock: held %v: %v", held, err)
		}
		waited := make(chan error, 1)
		go func() {
			_, err := other.Hold(within(t), "taken", true, func(context.Context) error { return errors.New("what work returns") })
			waited <- err
		}()
		h.end(t)
		if err := <-waited; err == nil || err.Error() != "what work returns" {
			t.Errorf("waiting Hold: %v", err)
		}
		hold(t, one, "taken").end(t) // the lock is released whatever work returned
	})
}

// endConnections terminates the connections of every lock, like a restart of
// the database.
func endConnections(t *testing.T, db *gorm.DB) {
	t.Helper()
	var ended []bool
	err := db.Raw("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(&ended).Error
	if err != nil || len(ended) == 0 {
		t.Fatalf("%d connections were terminated: %v", len(ended), err)
	}
}

func TestLockEndsWithConnection(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		all, db := replicas(t, dsn, 2)
		if db.Name() != "postgres" {
			return // files have no connection
		}
		h := hold(t, all[0], "lost")
		endConnections(t, db)
		hold(t, all[1], "lost").end(t)
		h.end(t)
		hold(t, all[0], "lost").end(t) // on a new connection
	})
}

func TestWorkEndsWithLock(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		all, db := replicas(t, dsn, 1)
		if db.Name() != "postgres" {
			return // a file lock cannot be lost
		}
		holds, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := all[0].Hold(within(t), "work", true, func(ctx context.Context) error {
				close(holds)
				<-ctx.Done()
				return context.Cause(ctx)
			})
			ended <- err
		}()
		<-holds
		endConnections(t, db)
		if err := <-ended; !errors.Is(err, locks.ErrLost) {
			t.Errorf("cause = %v, want %v", err, locks.ErrLost)
		}
	})
}

// TestLockEndsWithProcess holds a lock of a SQLite database in a process that
// is killed.
func TestLockEndsWithProcess(t *testing.T) {
	dsn := modelstest.SQLite(t)
	all, _ := replicas(t, dsn, 1)
	other := exec.CommandContext(t.Context(), os.Args[0])
	other.Env = append(os.Environ(), holderVariable+"="+dsn)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("output of the other process = %q: %v", line, err)
	}
	if held, err := all[0].Hold(within(t), "shared", false, func(context.Context) error { return nil }); held || err != nil {
		t.Errorf("held %v while another process holds it: %v", held, err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait()
	hold(t, all[0], "shared").end(t)
}

func TestManyLocksShareConnection(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		all, db := replicas(t, dsn, 1)
		for i := range 100 {
			defer hold(t, all[0], fmt.Sprint(i)).end(t)
		}
		if db.Name() != "postgres" {
			return
		}
		var held, connections int64
		if err := db.Raw("SELECT count(*), count(DISTINCT pid) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Row().Scan(&held, &connections); err != nil {
			t.Fatal(err)
		}
		if held != 100 || connections != 1 {
			t.Errorf("%d locks on %d connections", held, connections)
		}
	})
}

func TestOwnIsExclusive(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		all, db := replicas(t, dsn, 2)
		one, other := all[0], all[len(all)-1]
		owners := make(chan int, 10)
		own := func(l *locks.Locks, number int) (end func()) {
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				l.RunAsLeader(ctx, "work", func(ctx context.Context) { owners <- number; <-ctx.Done() })
			}()
			return func() { cancel(); <-ended }
		}
		want := func(number int) {
			t.Helper()
			select {
			case got := <-owners:
				if got != number && number != 0 {
					t.Errorf("owner = %d, want %d", got, number)
				}
			case <-within(t).Done():
				t.Fatalf("%d is not the owner", number)
			}
		}
		endOne := own(one, 1)
		want(1)
		endOther := own(other, 2)
		defer func() { endOther() }()
		// The other process retries all the time and does not acquire the lock.
		if held, err := other.Hold(within(t), "work", false, func(context.Context) error { return nil }); held || err != nil || len(owners) != 0 {
			t.Errorf("held %v, %d further owners: %v", held, len(owners), err)
		}
		endOne()
		want(2)
		if db.Name() == "postgres" { // losing the connection also ends the ownership of either
			endOne = own(one, 1)
			endConnections(t, db)
			want(0)
			endOne()
		}
	})
}
