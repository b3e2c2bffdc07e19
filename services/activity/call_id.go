package activity

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// callIDs generates ids of calls: version 7 UUIDs (RFC 9562, section 5.7) in
// increasing order, with 12 bits of sub-millisecond time (section 6.2, method
// 3). It must not be used concurrently.
type callIDs struct {
	last uint64 // time of the last id in 1/4096 milliseconds
}

// next returns n ids in order.
func (x *callIDs) next(now time.Time, n int) []string {
	if n == 0 {
		return nil
	}
	ns := uint64(now.UnixNano())
	moment := max(ns/1e6<<12|ns%1e6<<12/1e6, x.last+1)
	x.last = moment + uint64(n) - 1
	random := make([]byte, 8*n)
	_, _ = rand.Read(random) // never fails
	ids := make([]string, n)
	for i := range ids {
		var id uuid.UUID
		binary.BigEndian.PutUint64(id[:], moment>>12<<16|0x7000|moment&0xfff)
		copy(id[8:], random[8*i:])
		id[8] = id[8]&0x3f | 0x80
		moment++
		ids[i] = id.String()
	}
	return ids
}
