package embeddings

import "math/rand/v2"

// LimitMemory replaces MaxMemory, so that a test can use fewer vectors.
func (e *Embeddings) LimitMemory(bytes int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.limit = bytes
}

// Cosine returns the cosine of two vectors as they are stored.
func Cosine(a, b []float32) (float64, error) {
	v, err := newVector(a)
	if err != nil {
		return 0, err
	}
	w, err := newVector(b)
	if err != nil {
		return 0, err
	}
	if w, err = fromRow(w.row()); err != nil {
		return 0, err
	}
	cosine, _ := v.cosine(w)
	return cosine, nil
}

// Fill stores a random vector for every current tool in memory.
func (e *Embeddings) Fill(dimensions int) {
	random := rand.New(rand.NewPCG(1, 2))
	order, _ := e.current()
	for _, k := range order {
		numbers := make([]float32, dimensions)
		for i := range numbers {
			numbers[i] = float32(random.NormFloat64())
		}
		if v, err := newVector(numbers); err == nil {
			e.add(k, v)
		}
	}
}

// The limits that tests meet.
const (
	Deadline       = deadline
	MaxQueries     = maxQueries
	MaxDimensions  = maxDimensions
	MaxTextBytes   = maxTextBytes
	MaxFailures    = maxFailures
	Pause          = pause
	UnusedFor      = unusedFor
	VectorOverhead = vectorOverhead
	BatchSize      = batchSize
)
