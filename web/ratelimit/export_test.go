package ratelimit

import (
	"time"

	"mcpgateway/web/forwarded"
)

// MaxAddresses is the maximum number of addresses that a limit stores.
const MaxAddresses = maxAddresses

// Take consumes a token of an address.
func (l *AddressLimit) Take(address string) time.Duration {
	return l.take(forwarded.ParseAddress(address))
}

// Kept returns the number of stored addresses.
func (l *AddressLimit) Kept() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.full)
}

// Kept returns the number of stored addresses.
func (l *FailureLimit) Kept() int {
	n := 0
	for i := range l.shards {
		l.shards[i].mu.Lock()
		n += len(l.shards[i].last)
		l.shards[i].mu.Unlock()
	}
	return n
}
