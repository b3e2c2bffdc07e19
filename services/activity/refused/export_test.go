package refused

import "context"

// MaxWaiting is the maximum number of requests that wait to be written.
const MaxWaiting = maxWaiting

// Flush writes the waiting requests without a time limit.
func Flush(ctx context.Context, l *Log) error { return l.flush(ctx) }

// Waiting returns the number of requests that wait to be written.
func Waiting(l *Log) int { return int(l.waiting.Load()) }
