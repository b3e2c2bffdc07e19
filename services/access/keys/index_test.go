package keys_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/notify"
)

func TestIndexIsEmptyUntilLoaded(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		c := accesstest.NewClock()
		one := accesstest.Join(t, dsn, c)
		if err := one.DB.Create(accesstest.Project("p", models.AuthAPIKey)).Error; err != nil {
			t.Fatal(err)
		}
		_, key := one.Create(t, 0)
		two := accesstest.Join(t, dsn, c) // loads
		if !two.Admits(t, key) {
			t.Error("key missing in a process that starts later")
		}
	})
}

func TestTopicReloadsProject(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		id, key := w.Create(t, 0)
		_, kept := w.Create(t, 0)
		_, foreign, err := w.Keys.Create(t.Context(), "q", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		// Another process revokes: the row changes before the notification.
		if err := w.DB.Model(&models.Key{}).Where("id = ?", id).Update("revoked_at", w.Now()).Error; err != nil {
			t.Fatal(err)
		}
		for _, topic := range []notify.Topic{notify.Keys("q"), notify.Toolset("p")} {
			w.Publish(t, topic)
			if !w.Admits(t, key) {
				t.Fatalf("topic %s reloaded project p", topic)
			}
		}
		w.Publish(t, notify.Keys("p"))
		if w.Admits(t, key) || !w.Admits(t, kept) || !w.AdmitsTo(t, "q", foreign.Reveal()) {
			t.Error("topic didn't reload exactly its project")
		}
		if err := w.DB.Delete(&models.Project{}, "id = ?", "p").Error; err != nil {
			t.Fatal(err)
		}
		w.Publish(t, notify.Keys("p"))
		if w.Admits(t, kept) || !w.AdmitsTo(t, "q", foreign.Reveal()) {
			t.Error("keys of a deleted project are valid")
		}
	})
}

func TestRevocationReachesOtherProcess(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		c := accesstest.NewClock()
		one := accesstest.Join(t, dsn, c)
		if err := one.DB.Create(accesstest.Project("p", models.AuthAPIKey)).Error; err != nil {
			t.Fatal(err)
		}
		id, key := one.Create(t, 0)
		two := accesstest.Join(t, dsn, c)
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = two.Feed.Run(ctx) })
		defer running.Wait()
		defer cancel()
		if !two.Admits(t, key) {
			t.Fatal("key rejected")
		}
		if err := one.Keys.Revoke(t.Context(), "p", id); err != nil {
			t.Fatal(err)
		}
		deadline := time.After(30 * time.Second)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for two.Admits(t, key) {
			select {
			case <-deadline:
				t.Fatal("other process not notified")
			case <-tick.C:
			}
		}
	})
}

func TestFailedLoadKeepsIndex(t *testing.T) {
	w := accesstest.OnSQLite(t)
	_, key := w.Create(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Index.Changed(ctx, notify.Keys("p")); err == nil {
		t.Error("Changed() with a cancelled context succeeded")
	}
	if err := w.Index.Load(ctx); err == nil {
		t.Error("Load() with a cancelled context succeeded")
	}
	if !w.Admits(t, key) {
		t.Error("failed load emptied the index")
	}
}

func TestTruncatedHashesAreIgnored(t *testing.T) {
	w := accesstest.OnSQLite(t)
	for _, hash := range [][]byte{{}, []byte("short"), make([]byte, 33)} {
		row := models.Key{ID: string(hash) + "x", ProjectID: "p", Hash: hash, CreatedAt: w.Now()}
		if len(hash) == 33 {
			row.ID = "long"
		}
		if err := w.DB.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Index.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSaveUseStoresLastUse(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		id, key := w.Create(t, 0)
		unused, _ := w.Create(t, 0)
		lastUsed := func(id string) *time.Time {
			t.Helper()
			row, err := w.Keys.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return row.LastUsedAt
		}
		save := func() {
			t.Helper()
			if err := w.Index.SaveUse(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.Admits(t, key)
		if lastUsed(id) != nil {
			t.Error("request wrote to the database")
		}
		save()
		first := w.Now()
		if got := lastUsed(id); got == nil || !got.Equal(first) || lastUsed(unused) != nil {
			t.Fatalf("saved %v, want %v", got, first)
		}
		// An older use doesn't replace a later one of another process.
		later := first.Add(time.Hour)
		if err := w.DB.Model(&models.Key{}).Where("id = ?", id).Update("last_used_at", later).Error; err != nil {
			t.Fatal(err)
		}
		w.Advance(time.Minute)
		w.Admits(t, key)
		w.Publish(t, notify.Keys("p")) // a reload keeps uses
		save()
		if got := lastUsed(id); !got.Equal(later) {
			t.Errorf("older use replaced a newer one: %v", got)
		}
		w.Advance(2 * time.Hour)
		w.Admits(t, key)
		w.Publish(t, notify.Keys("p"))
		save()
		if got := lastUsed(id); !got.Equal(w.Now()) {
			t.Errorf("saved %v, want %v", got, w.Now())
		}
	})
}

func TestUnchangedUseIsNotRewritten(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		id, key := w.Create(t, 0)
		w.Admits(t, key)
		if err := w.Index.SaveUse(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.DB.Model(&models.Key{}).Where("id = ?", id).Update("last_used_at", gorm.Expr("NULL")).Error; err != nil {
			t.Fatal(err)
		}
		if err := w.Index.SaveUse(t.Context()); err != nil {
			t.Fatal(err)
		}
		if row, err := w.Keys.Get(t.Context(), id); err != nil || row.LastUsedAt != nil {
			t.Errorf("saved use was written again: %v, %v", row.LastUsedAt, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w.Advance(time.Minute)
		w.Admits(t, key)
		if err := w.Index.SaveUse(ctx); err == nil {
			t.Error("SaveUse() with a cancelled context succeeded")
		}
		if err := w.Index.SaveUse(t.Context()); err != nil {
			t.Fatal(err)
		}
		if row, err := w.Keys.Get(t.Context(), id); err != nil || row.LastUsedAt == nil {
			t.Errorf("use lost after a failed write: %v", err)
		}
	})
}

func TestKeyChecksDuringChanges(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		_, steady := w.Create(t, 0)
		ctx, cancel := context.WithCancel(context.Background())
		var checking sync.WaitGroup
		for range 4 {
			checking.Go(func() {
				for ctx.Err() == nil {
					if _, err := w.Auth.Authenticate(ctx, accesstest.Project("p", models.AuthAPIKey), "", "Bearer "+steady); err != nil {
						t.Error("unchanged key rejected")
						return
					}
				}
			})
		}
		for range 10 {
			id, key := w.Create(t, 0)
			id, next := w.Rotate(t, id, 0)
			if w.Admits(t, key) || !w.Admits(t, next) {
				t.Error("rotation not effective")
			}
			if err := w.Keys.Revoke(t.Context(), "p", id); err != nil {
				t.Error(err)
			}
			if err := w.Index.SaveUse(t.Context()); err != nil {
				t.Error(err)
			}
		}
		cancel()
		checking.Wait()
	})
}
