package access_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/notify"
)

func TestIndexIsEmptyUntilLoaded(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		c := newClock()
		one := join(t, dsn, c)
		if err := one.db.Create(project("p", models.AuthAPIKey)).Error; err != nil {
			t.Fatal(err)
		}
		_, key := one.create(t, 0)
		two := join(t, dsn, c) // loads
		if !two.admits(t, key) {
			t.Error("a process that starts later does not know the key")
		}
	})
}

func TestIndexReadsAProjectAgainByItsTopic(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id, key := w.create(t, 0)
		_, kept := w.create(t, 0)
		_, foreign, err := w.keys.Create(t.Context(), "q", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		// Another process revokes: the row changes, and this one hears later.
		if err := w.db.Model(&models.Key{}).Where("id = ?", id).Update("revoked_at", w.Now()).Error; err != nil {
			t.Fatal(err)
		}
		for _, topic := range []notify.Topic{notify.Keys("q"), notify.Toolset("p")} {
			w.published(t, topic)
			if !w.admits(t, key) {
				t.Fatalf("the topic %s made it read project p", topic)
			}
		}
		w.published(t, notify.Keys("p"))
		if w.admits(t, key) || !w.admits(t, kept) || !w.admitsTo(t, "q", foreign.Reveal()) {
			t.Error("the topic did not make it read exactly its project")
		}
		if err := w.db.Delete(&models.Project{}, "id = ?", "p").Error; err != nil {
			t.Fatal(err)
		}
		w.published(t, notify.Keys("p"))
		if w.admits(t, kept) || !w.admitsTo(t, "q", foreign.Reveal()) {
			t.Error("the keys of a deleted project work on")
		}
	})
}

func TestOtherProcessHearsOfARevocation(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		c := newClock()
		one := join(t, dsn, c)
		if err := one.db.Create(project("p", models.AuthAPIKey)).Error; err != nil {
			t.Fatal(err)
		}
		id, key := one.create(t, 0)
		two := join(t, dsn, c)
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { _ = two.feed.Run(ctx) })
		defer running.Wait()
		defer cancel()
		if !two.admits(t, key) {
			t.Fatal("the key is refused")
		}
		if err := one.keys.Revoke(t.Context(), "p", id); err != nil {
			t.Fatal(err)
		}
		deadline := time.After(10 * time.Second)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for two.admits(t, key) {
			select {
			case <-deadline:
				t.Fatal("the other process never heard of it")
			case <-tick.C:
			}
		}
	})
}

func TestIndexThatCannotReadKeepsWhatItKnows(t *testing.T) {
	w := onSQLite(t)
	_, key := w.create(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.index.Changed(ctx, notify.Keys("p")); err == nil {
		t.Error("reading with an ended context succeeded")
	}
	if err := w.index.Load(ctx); err == nil {
		t.Error("loading with an ended context succeeded")
	}
	if !w.admits(t, key) {
		t.Error("a failed reading emptied the index")
	}
}

func TestRowsWithoutAWholeHashOpenNothing(t *testing.T) {
	w := onSQLite(t)
	for _, hash := range [][]byte{{}, []byte("short"), make([]byte, 33)} {
		row := models.Key{ID: string(hash) + "x", ProjectID: "p", Hash: hash, CreatedAt: w.Now()}
		if len(hash) == 33 {
			row.ID = "long"
		}
		if err := w.db.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
	}
	if err := w.index.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestLastUseIsSavedNowAndThen(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id, key := w.create(t, 0)
		unused, _ := w.create(t, 0)
		lastUsed := func(id string) *time.Time {
			t.Helper()
			row, err := w.keys.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return row.LastUsedAt
		}
		save := func() {
			t.Helper()
			if err := w.index.SaveUse(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.admits(t, key)
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
		if err := w.db.Model(&models.Key{}).Where("id = ?", id).Update("last_used_at", later).Error; err != nil {
			t.Fatal(err)
		}
		w.Advance(time.Minute)
		w.admits(t, key)
		w.published(t, notify.Keys("p")) // a reload in between forgets no use
		save()
		if got := lastUsed(id); !got.Equal(later) {
			t.Errorf("an older use replaced a newer: %v", got)
		}
		w.Advance(2 * time.Hour)
		w.admits(t, key)
		w.published(t, notify.Keys("p"))
		save()
		if got := lastUsed(id); !got.Equal(w.Now()) {
			t.Errorf("saved %v, want %v", got, w.Now())
		}
	})
}

func TestUnchangedUseIsNotWrittenAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		id, key := w.create(t, 0)
		w.admits(t, key)
		if err := w.index.SaveUse(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.db.Model(&models.Key{}).Where("id = ?", id).Update("last_used_at", gorm.Expr("NULL")).Error; err != nil {
			t.Fatal(err)
		}
		if err := w.index.SaveUse(t.Context()); err != nil {
			t.Fatal(err)
		}
		if row, err := w.keys.Get(t.Context(), id); err != nil || row.LastUsedAt != nil {
			t.Errorf("a use that was saved before was written again: %v, %v", row.LastUsedAt, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w.Advance(time.Minute)
		w.admits(t, key)
		if err := w.index.SaveUse(ctx); err == nil {
			t.Error("saving with an ended context succeeded")
		}
		if err := w.index.SaveUse(t.Context()); err != nil {
			t.Fatal(err)
		}
		if row, err := w.keys.Get(t.Context(), id); err != nil || row.LastUsedAt == nil {
			t.Errorf("a use whose saving failed was forgotten: %v", err)
		}
	})
}

func TestKeysAreCheckedWhileTheyChange(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, steady := w.create(t, 0)
		ctx, cancel := context.WithCancel(context.Background())
		var checking sync.WaitGroup
		for range 4 {
			checking.Go(func() {
				for ctx.Err() == nil {
					if _, err := w.auth.Authenticate(ctx, project("p", models.AuthAPIKey), "Bearer "+steady); err != nil {
						t.Error("a key that nobody touched was refused")
						return
					}
				}
			})
		}
		for range 10 {
			id, key := w.create(t, 0)
			id, next := w.rotate(t, id, 0)
			if w.admits(t, key) || !w.admits(t, next) {
				t.Error("the rotation is not seen")
			}
			if err := w.keys.Revoke(t.Context(), "p", id); err != nil {
				t.Error(err)
			}
			if err := w.index.SaveUse(t.Context()); err != nil {
				t.Error(err)
			}
		}
		cancel()
		checking.Wait()
	})
}
