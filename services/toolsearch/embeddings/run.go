package embeddings

import (
	"context"
	"time"

	"mcpgateway/models"
)

// Run reads the stored vectors of the current tools into memory until the context
// ends.
func (e *Embeddings) Run(ctx context.Context) {
	if !e.On() {
		return
	}
	tick := time.NewTicker(loadInterval)
	defer tick.Stop()
	for {
		if err := e.load(ctx); err != nil && ctx.Err() == nil {
			e.warn("load", err)
		}
		signal(e.missing)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-e.changed:
		}
	}
}

// load drops the vectors of texts that no tool has and reads the stored ones that
// are not in memory.
func (e *Embeddings) load(ctx context.Context) error {
	order, tools := e.current()
	e.mu.Lock()
	for k, v := range e.vectors {
		if tools[k] == nil {
			delete(e.vectors, k)
			e.bytes -= v.size()
		}
	}
	e.mu.Unlock()
	missing := e.without(order)
	for len(missing) > 0 {
		chunk := missing[:min(len(missing), rowsPerQuery)]
		missing = missing[len(chunk):]
		names, keys := make([]string, len(chunk)), make(map[string]key, len(chunk))
		for i, k := range chunk {
			names[i] = k.String()
			keys[names[i]] = k
		}
		var rows []models.Embedding
		if err := e.DB.WithContext(ctx).Select("text_hash", "vector").Where("model = ? AND text_hash IN ?", e.Model, names).Find(&rows).Error; err != nil {
			return err
		}
		for _, row := range rows {
			if v, err := fromRow(row.Vector); err == nil && !e.add(keys[row.TextHash], v) {
				return nil
			}
		}
	}
	return nil
}

// without returns the keys that have no vector in memory.
func (e *Embeddings) without(order []key) (missing []key) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, k := range order {
		if _, ok := e.vectors[k]; !ok {
			missing = append(missing, k)
		}
	}
	return missing
}

// add stores a vector in memory. It returns false if there is no memory left.
func (e *Embeddings) add(k key, v vector) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	old, had := e.vectors[k]
	bytes := e.bytes + v.size()
	if had {
		bytes -= old.size()
	}
	if bytes > e.limit {
		return false
	}
	e.vectors[k], e.bytes, e.dimensions = v, bytes, len(v.bytes)
	return true
}

// fits reports whether a vector has the dimensions of the last one in memory.
func (e *Embeddings) fits(v vector) bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return len(v.bytes) == e.dimensions
}
