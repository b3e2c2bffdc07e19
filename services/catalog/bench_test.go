package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
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
	var file struct {
		Items []struct {
			models.CatalogEntry
			LastReleaseAt string // in the file it is a date
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		tb.Fatal(err)
	}
	entries := make([]models.CatalogEntry, len(file.Items))
	for i := range file.Items {
		entries[i] = file.Items[i].CatalogEntry
		entries[i].Status = models.CatalogActive
	}
	return entries
}

// percentiles calls f repeatedly and reports the percentiles of its duration.
func percentiles(b *testing.B, f func()) {
	var durations []time.Duration
	for b.Loop() {
		began := time.Now()
		f()
		durations = append(durations, time.Since(began))
	}
	slices.Sort(durations)
	b.ReportMetric(float64(durations[len(durations)/2].Microseconds()), "p50-µs")
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
				percentiles(b, func() {
					if _, err := c.Entries(b.Context(), catalog.Search{Text: text, Limit: page.DefaultLimit}); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
		b.Run(fmt.Sprintf("%d/facets", n), func(b *testing.B) {
			percentiles(b, func() {
				if _, err := c.Facets("er", catalog.Filter{}); err != nil {
					b.Fatal(err)
				}
			})
		})
		b.Run(fmt.Sprintf("%d/legacy", n), func(b *testing.B) {
			percentiles(b, func() { c.Legacy(catalog.Legacy{Search: "zzzz_", Limit: 500}) })
		})
	}
}

// BenchmarkBuild also reports the memory that the catalog uses in addition to
// its rows.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{25_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			rows, cursors := manyRows(b, n), page.NewCursors(ring(b))
			before := held()
			var c *catalog.Catalog
			for b.Loop() {
				var err error
				if c, err = catalog.Of(rows, nil, cursors); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(held()-before)/(1<<20), "MiB-held")
			runtime.KeepAlive(c)
			runtime.KeepAlive(rows)
		})
	}
}

// held returns the bytes of the heap in use.
func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkStart measures the catalog's share of the start time: the first
// start on a database, and later ones.
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

// document returns a file of n rows like the built-in ones, each with the word in
// its description.
func document(tb testing.TB, n int, word string) []byte {
	tb.Helper()
	raw, err := os.ReadFile("data/registry.json")
	if err != nil {
		tb.Fatal(err)
	}
	var file struct {
		Version int              `json:"version"`
		Items   []map[string]any `json:"items"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		tb.Fatal(err)
	}
	seed := file.Items
	file.Items = make([]map[string]any, n)
	for i := range file.Items {
		row := maps.Clone(seed[i%len(seed)])
		delete(row, "id")
		row["serverName"] = fmt.Sprintf("%s-%d", row["serverName"], i)
		row["description"] = fmt.Sprintf("%s Variant %d.", word, i)
		file.Items[i] = row
	}
	if raw, err = json.Marshal(file); err != nil {
		tb.Fatal(err)
	}
	return raw
}

// BenchmarkImport measures an import that adds 10,000 rows, and one that changes
// all of them.
func BenchmarkImport(b *testing.B) {
	const rows = 10_000
	first, second := document(b, rows, "First"), document(b, rows, "Second")
	var added, changed time.Duration
	for n := range b.N {
		dsn := "sqlite:" + filepath.Join(b.TempDir(), fmt.Sprintf("%d.db", n))
		db, err := models.Open(b.Context(), dsn)
		if err != nil {
			b.Fatal(err)
		}
		pool, err := db.DB()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := migrations.Up(b.Context(), pool, db.Name()); err != nil {
			b.Fatal(err)
		}
		feed, err := notify.NewFeed(db, dsn, slog.New(slog.DiscardHandler))
		if err != nil {
			b.Fatal(err)
		}
		store := catalog.NewStore(db, nil, activity.NewAudit(db, time.Now), feed, time.Now)
		began := time.Now()
		if plan, err := store.ImportFile(b.Context(), first, false); err != nil || plan.Added != rows {
			b.Fatalf("%+v (%v)", plan, err)
		}
		added += time.Since(began)
		began = time.Now()
		if plan, err := store.ImportFile(b.Context(), second, false); err != nil || plan.Updated != rows {
			b.Fatalf("%+v (%v)", plan, err)
		}
		changed += time.Since(began)
		if err := pool.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(added.Milliseconds())/float64(b.N), "ms-added")
	b.ReportMetric(float64(changed.Milliseconds())/float64(b.N), "ms-changed")
}
