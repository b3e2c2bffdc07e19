package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mcpgateway/migrations"
	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/catalog"
	"mcpgateway/services/notify"
	"mcpgateway/services/page"
)

// builtIn returns the built-in rows.
func builtIn(tb testing.TB) []models.CatalogEntry {
	tb.Helper()
	raw, err := os.ReadFile("data/registry.json")
	if err != nil {
		tb.Fatal(err)
	}
	var file struct{ Items []models.CatalogEntry }
	if err := json.Unmarshal(raw, &file); err != nil {
		tb.Fatal(err)
	}
	for i := range file.Items {
		file.Items[i].Status = models.CatalogActive
	}
	return file.Items
}

// p99 calls f so many times and reports the 99th percentile of its duration.
func p99(b *testing.B, f func()) {
	var durations []time.Duration
	for b.Loop() {
		began := time.Now()
		f()
		durations = append(durations, time.Since(began))
	}
	slices.Sort(durations)
	b.ReportMetric(float64(durations[len(durations)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{25_000, 100_000} {
		c, err := catalog.Of(manyRows(b, n), nil, page.NewCursors(ring(b)))
		if err != nil {
			b.Fatal(err)
		}
		for _, text := range []string{"a", "er", "git", "database", "variants", "postgres", "mcp server", `"for region"`, "tag:search -docs", ""} {
			b.Run(fmt.Sprintf("%d/%s", n, text), func(b *testing.B) {
				p99(b, func() {
					if _, err := c.Entries(b.Context(), catalog.Search{Text: text, Limit: page.DefaultLimit}); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
		b.Run(fmt.Sprintf("%d/facets", n), func(b *testing.B) {
			p99(b, func() {
				if _, err := c.Facets("er"); err != nil {
					b.Fatal(err)
				}
			})
		})
		b.Run(fmt.Sprintf("%d/legacy", n), func(b *testing.B) {
			p99(b, func() { c.Legacy(catalog.Legacy{Search: "zzzz_", Limit: 500}) })
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	rows := manyRows(b, 100_000)
	cursors := page.NewCursors(ring(b))
	for b.Loop() {
		if _, err := catalog.Of(rows, nil, cursors); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart measures what the catalog adds to a start: the first one on a
// database, and every later one.
func BenchmarkStart(b *testing.B) {
	log := slog.New(slog.DiscardHandler)
	open := func(b *testing.B, dsn string) time.Duration {
		db, err := models.Open(b.Context(), dsn)
		if err != nil {
			b.Fatal(err)
		}
		pool, err := db.DB()
		if err != nil {
			b.Fatal(err)
		}
		defer pool.Close()
		if _, err := migrations.Up(b.Context(), pool, db.Name()); err != nil {
			b.Fatal(err)
		}
		feed, err := notify.NewFeed(db, dsn, log)
		if err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		store := catalog.NewStore(db, nil, activity.NewAudit(db, time.Now), feed, time.Now)
		c := catalog.New(db, page.NewCursors(ring(b)), "test", log, nil)
		if err := errors.Join(store.LoadDefaults(b.Context()), c.Load(b.Context())); err != nil {
			b.Fatal(err)
		}
		if len(c.AllEntries()) == 0 {
			b.Fatal("nothing was loaded")
		}
		return time.Since(began)
	}
	for _, again := range []bool{false, true} {
		b.Run(fmt.Sprintf("again=%t", again), func(b *testing.B) {
			var took time.Duration
			for n := range b.N {
				dsn := "sqlite:" + filepath.Join(b.TempDir(), fmt.Sprintf("%d.db", n))
				if again {
					open(b, dsn)
				}
				took += open(b, dsn)
			}
			b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs-added")
		})
	}
}
