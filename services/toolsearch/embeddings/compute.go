package embeddings

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/notify"
)

// Compute requests and stores the missing vectors of the current tools until the
// context ends. One process runs it. After a failure it waits, 10 s at first and at
// most 10 min.
func (e *Embeddings) Compute(ctx context.Context) {
	if !e.On() {
		return
	}
	c := computation{Embeddings: e, refused: map[key]time.Time{}}
	retry := minRetry
	for {
		delay, missing := loadInterval, e.missing
		switch err := c.all(ctx); {
		case err == nil:
			retry = minRetry
		case ctx.Err() != nil:
			return
		default:
			e.warn("tools", err)
			delay, missing = retry, nil // new tools wait, too
			retry = min(2*retry, maxRetry)
		}
		if !pauseUntil(ctx, delay, missing) {
			return
		}
	}
}

// pauseUntil waits for the delay or for wake, which may be nil. It returns false if
// the context has ended.
func pauseUntil(ctx context.Context, delay time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-wake:
	}
	return true
}

// computation is the state of Compute.
type computation struct {
	*Embeddings
	refused   map[key]time.Time // when the endpoint refused the text
	published time.Time
}

// all requests the missing vectors in batches. It returns the first error of the
// endpoint or the database.
func (c *computation) all(ctx context.Context) error {
	if err := c.load(ctx); err != nil { // what is stored is not requested again
		return err
	}
	order, tools := c.current()
	var batch []text
	stored := false
	send := func() error {
		vectors, err := c.batch(ctx, batch)
		switch {
		case err != nil:
			return err
		case len(vectors) == 0 && len(batch) > 1:
			return errors.New("the endpoint refused all texts")
		}
		if batch = batch[:0]; len(vectors) > 0 {
			stored = true
			if err := c.store(ctx, vectors); err != nil {
				return err
			}
		}
		if stored && c.Now().Sub(c.published) >= publishInterval {
			stored, c.published = false, c.Now()
			return c.publish(ctx)
		}
		return nil
	}
	for k, at := range c.refused {
		if tools[k] == nil || c.Now().Sub(at) >= refusedFor {
			delete(c.refused, k)
		}
	}
	for _, k := range c.without(order) {
		if _, refused := c.refused[k]; refused {
			continue
		}
		batch = append(batch, text{k, textOf(tools[k])})
		if len(batch) < batchSize {
			continue
		}
		if c.isFull() {
			batch = nil
			break
		}
		if err := send(); err != nil {
			return errors.Join(err, c.announce(ctx, stored))
		}
	}
	if len(batch) > 0 && !c.isFull() {
		if err := send(); err != nil {
			return errors.Join(err, c.announce(ctx, stored))
		}
	}
	return c.announce(ctx, stored)
}

// announce publishes the vectors stored since the last time, if any.
func (c *computation) announce(ctx context.Context, stored bool) error {
	if !stored {
		return nil
	}
	c.published = c.Now()
	return c.publish(ctx)
}

// computed is the vector of a text.
type computed struct {
	key    key
	vector vector
}

// batch returns the vectors of texts. If the endpoint refuses all together, it
// requests them in halves, so that one text doesn't hold back the others. A text
// that is refused alone is left out, and is sent again after an hour.
func (c *computation) batch(ctx context.Context, texts []text) ([]computed, error) {
	sent := make([]string, len(texts))
	for i, t := range texts {
		sent[i] = t.text
	}
	limited, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	vectors, err := c.embed(limited, sent)
	var refused *refusal
	switch {
	case err == nil:
		out := make([]computed, len(texts))
		for i, t := range texts {
			out[i] = computed{t.key, vectors[i]}
		}
		return out, nil
	case !errors.As(err, &refused):
		return nil, err
	case len(texts) == 1:
		c.warn("tool", err)
		c.refused[texts[0].key] = c.Now()
		return nil, nil
	}
	half := len(texts) / 2
	first, err := c.batch(ctx, texts[:half])
	if err != nil {
		return nil, err
	}
	second, err := c.batch(ctx, texts[half:])
	return append(first, second...), err
}

// store stores vectors and keeps them in memory.
func (c *computation) store(ctx context.Context, vectors []computed) error {
	rows := make([]models.Embedding, len(vectors))
	for i, v := range vectors {
		rows[i] = models.Embedding{TextHash: v.key.String(), Model: c.Model, CreatedAt: c.Now(), Vector: v.vector.row()}
	}
	if err := c.DB.WithContext(ctx).Clauses(clause.OnConflict{UpdateAll: true}).Create(&rows).Error; err != nil {
		return err
	}
	for _, v := range vectors {
		c.add(v.key, v.vector)
	}
	return nil
}

func (c *computation) publish(ctx context.Context) error {
	err := c.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return notify.Touch(tx, notify.Embeddings()) })
	return errors.Join(err, c.Feed.Publish(ctx, notify.Embeddings()))
}

// isFull reports whether the memory has no place for another vector of the usual
// size.
func (e *Embeddings) isFull() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	n := len(e.vectors)
	return n > 0 && e.bytes+e.bytes/n > e.limit
}

// Sweep deletes the vectors of texts that no tool has, and those of other models,
// a day after they were stored.
func (e *Embeddings) Sweep(ctx context.Context) error {
	_, tools := e.current()
	db := e.DB.WithContext(ctx)
	before := e.Now().Add(-unusedFor)
	if err := db.Where("model <> ? AND created_at <= ?", e.Model, before).Delete(&models.Embedding{}).Error; err != nil {
		return err
	}
	used := make(map[string]bool, len(tools))
	for k := range tools {
		used[k.String()] = true
	}
	var stored, unused []string
	if err := db.Model(&models.Embedding{}).Where("model = ? AND created_at <= ?", e.Model, before).Order("text_hash").Pluck("text_hash", &stored).Error; err != nil {
		return err
	}
	for _, hash := range stored {
		if !used[hash] {
			unused = append(unused, hash)
		}
	}
	for len(unused) > 0 {
		chunk := unused[:min(len(unused), rowsPerQuery)]
		unused = unused[len(chunk):]
		if err := db.Where("model = ? AND text_hash IN ?", e.Model, chunk).Delete(&models.Embedding{}).Error; err != nil {
			return err
		}
	}
	return nil
}
