package measure

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"time"

	"mcpgateway/cmd/bench/load"
)

// catalog measures a gateway whose catalog has n rows.
func (r *runner) catalog(ctx context.Context, n int) ([]Reading, error) {
	home, err := r.home("GATEWAY_BUILTIN_CATALOG=false")
	if err != nil {
		return nil, err
	}
	defer home.Remove()
	file := filepath.Join(r.Folder, "catalog.json")
	if err := WriteCatalog(file, n); err != nil {
		return nil, err
	}
	began := time.Now()
	if err := home.Import(ctx, file); err != nil {
		return nil, err
	}
	imported := time.Since(began)
	g, err := home.Serve(ctx)
	if err != nil {
		return nil, err
	}
	defer g.Stop()
	memory, err := r.resident(ctx, g)
	if err != nil {
		return nil, err
	}
	reader, err := load.OpenReader(ctx, g.Address)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	queries, next := catalogQueries(), 0
	took, err := repeat(ctx, 2*r.Duration, func() error {
		page, err := reader.Get("/api/registry?limit=20&query=" + url.QueryEscape(queries[next%len(queries)]))
		next++
		if err == nil && !bytes.Contains(page, []byte(`"serverName"`)) {
			err = errors.New("catalog search without results: " + string(page[:min(len(page), 300)]))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return []Reading{
		{"file import", Seconds, imported.Seconds()},
		{"startup", Seconds, g.Start.Seconds()},
		{"memory", MiB, memory},
		{"search, p50", Micros, micros(took.Quantile(0.5))},
		{"search, p99", Micros, micros(took.Quantile(0.99))},
	}, nil
}
