package web

import (
	"crypto/rand"
	"encoding/hex"
	"sync"
)

// idsAtOnce is how many ids are made together: the system is asked for random
// bytes, and memory for their text, once for all of them.
const idsAtOnce = 8

// Sizes of the text of a UUID and of a trace's id, in bytes.
const (
	uuidSize    = 36
	traceIDSize = 32
)

// requestID names a request: a random UUID (RFC 9562, section 5.4), and the
// same without its dashes, which is the id of the trace that begins with it.
type requestID struct{ uuid, trace string }

// requestIDs are ids that nobody has been given yet, some for each processor.
type requestIDs struct{ pool sync.Pool }

func newRequestIDs() *requestIDs {
	return &requestIDs{sync.Pool{New: func() any { return new(idBatch) }}}
}

// next returns an id that cannot be guessed.
func (r *requestIDs) next() requestID {
	b := r.pool.Get().(*idBatch)
	id := b.next()
	r.pool.Put(b)
	return id
}

// idBatch is the text of ids behind each other that are still to be given.
type idBatch struct{ text string }

func (b *idBatch) next() requestID {
	if b.text == "" {
		b.text = newIDs()
	}
	id := requestID{b.text[:uuidSize], b.text[uuidSize : uuidSize+traceIDSize]}
	b.text = b.text[uuidSize+traceIDSize:]
	return id
}

// newIDs returns the text of idsAtOnce ids.
func newIDs() string {
	var random [16 * idsAtOnce]byte
	_, _ = rand.Read(random[:]) // never fails
	text := make([]byte, 0, idsAtOnce*(uuidSize+traceIDSize))
	for i := range idsAtOnce {
		id := random[16*i : 16*i+16]
		id[6] = id[6]&0x0f | 0x40 // version 4
		id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
		var trace [traceIDSize]byte
		hex.Encode(trace[:], id)
		text = append(append(text, trace[:8]...), '-')
		text = append(append(text, trace[8:12]...), '-')
		text = append(append(text, trace[12:16]...), '-')
		text = append(append(text, trace[16:20]...), '-')
		text = append(append(text, trace[20:]...), trace[:]...)
	}
	return string(text)
}
