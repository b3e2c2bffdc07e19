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
			t.Error("a process that starts later does not know the key")
		}
	})
}

func TestIndexReadsAProjectAgainByItsTopic(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		id, key := w.Create(t, 0)
		_, kept := w.Create(t, 0)
		_, foreign, err := w.Keys.Create(t.Context(), "q", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		// Another process revokes: the row changes, and this one hears later.
		if err := w.DB.Model(&models.Key{}).Where("id = ?", id).Update("revoked_at", w.Now()).Error; err != nil {
			t.Fatal(err)
		}
		for _, topic := range []notify.Topic{notify.Keys("q"), notify.Toolset("p")} {
			w.Published(t, topic)
			if !w.Admits(t, key) {
				t.Fatalf("the topic %s made it read project p", topic)
			}
		}
		w.Published(t, notify.Keys("p"))
		if w.Admits(t, key) || !w.Admits(t, kept) || !w.AdmitsTo(t, "q", foreign.Reveal()) {
			t.Error("the topic did not make it read exactly its project")
		}
		if err := w.DB.Delete(&models.Project{}, "id = ?", "p").Error; err != nil {
			t.Fatal(err)
		}
		w.Published(t, notify.Keys("p"))
		if w.Admits(t, kept) || !w.AdmitsTo(t, "q", foreign.Reveal()) {
			t.Error("the keys of a deleted project work on")
		}
	})
}

func TestOtherProcessHearsOfARevocation(t *testing.T) {
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
			t.Fatal("the key is refused")
		}
		if err := one.Keys.Revoke(t.Context(), "p", id); err != nil {
			t.Fatal(err)
		}
		deadline := time.After(10 * time.Second)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for two.Admits(t, key) {
			select {
			case <-deadline:
				t.Fatal("the other process never heard of it")
			case <-tick.C:
			}
		}
	})
}

func TestIndexThatCannotReadKeepsWhatItKnows(t *testing.T) {
	w := accesstest.OnSQLite(t)
	_, key := w.Create(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Index.Changed(ctx, notify.Keys("p")); err == nil {
		t.Error("reading with an ended context succeeded")
	}
	if err := w.Index.Load(ctx); err == nil {
		t.Error("loading with an ended context succeeded")
	}
	if !w.Admits(t, key) {
		t.Error("a failed reading emptied the index")
	}
}

func TestRowsWithoutAWholeHashOpenNothing(t *testing.T) {
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

func TestLastUseIsSavedNowAndThen(t *testing.T) {
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
			t.Error("a request wrote to the database")
		}
		save()
		first := w.Now()
		if got := lastUsed(id); got == nil || !got.Equal(first) || lastUsed(unused) != nil {
			t.Fatalf("saved %v, want %v", got, first)
		}
		// Another process saw a later use; an older one does not replace it.
		later := first.Add(time.Hour)
		if err := w.DB.Model(&models.Key{}).Where("id = ?", id).Update("last_used_at", later).Error; err != nil {
			t.Fatal(err)
		}
		w.Advance(time.Minute)
		w.Admits(t, key)
		w.Published(t, notify.Keys("p")) // a reload in between forgets no use
		save()
		if got := lastUsed(id); !got.Equal(later) {
			t.Errorf("an older use replaced a newer: %v", got)
		}
		w.Advance(2 * time.Hour)
		w.Admits(t, key)
		w.Published(t, notify.Keys("p"))
		save()
		if got := lastUsed(id); !got.Equal(w.Now()) {
			t.Errorf("saved %v, want %v", got, w.Now())
		}
	})
}

func TestUnchangedUseIsNotWrittenAgain(t *testing.T) {
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
			t.Errorf("a use that was saved before was written again: %v, %v", row.LastUsedAt, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w.Advance(time.Minute)
		w.Admits(t, key)
		if err := w.Index.SaveUse(ctx); err == nil {
			t.Error("saving with an ended context succeeded")
		}
		if err := w.Index.SaveUse(t.Context()); err != nil {
			t.Fatal(err)
		}
		if row, err := w.Keys.Get(t.Context(), id); err != nil || row.LastUsedAt == nil {
			t.Errorf("a use whose saving failed was forgotten: %v", err)
		}
	})
}

func TestKeysAreCheckedWhileTheyChange(t *testing.T) {
	accesstest.Each(t, func(t *testing.T, w *accesstest.World) {
		_, steady := w.Create(t, 0)
		ctx, cancel := context.WithCancel(context.Background())
		var checking sync.WaitGroup
		for range 4 {
			checking.Go(func() {
				for ctx.Err() == nil {
					if _, err := w.Auth.Authenticate(ctx, accesstest.Project("p", models.AuthAPIKey), "Bearer "+steady); err != nil {
						t.Error("a key that nobody touched was refused")
						return
					}
				}
			})
		}
		for range 10 {
			id, key := w.Create(t, 0)
			id, next := w.Rotate(t, id, 0)
			if w.Admits(t, key) || !w.Admits(t, next) {
				t.Error("the rotation is not seen")
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
