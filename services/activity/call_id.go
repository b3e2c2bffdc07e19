package activity

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// callIDs makes the ids of calls: UUIDs of version 7 (RFC 9562, section 5.7),
// each greater than those before, with the moment as fine as 12 bits divide a
// millisecond (section 6.2, method 3). It is for one goroutine.
type callIDs struct {
	last uint64 // milliseconds and their 4,096 parts, of the latest id
}

// next returns the texts of n ids, in their order.
func (x *callIDs) next(now time.Time, n int) []string {
	if n == 0 {
		return nil
	}
	ns := uint64(now.UnixNano())
	moment := max(ns/1e6<<12|ns%1e6<<12/1e6, x.last+1)
	x.last = moment + uint64(n) - 1
	random := make([]byte, 8*n)
	_, _ = rand.Read(random) // which never fails
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
