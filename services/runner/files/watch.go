package files

import (
	"context"
	"errors"
	"slices"
	"time"

	"mcpgateway/services/runner/trusted"
)

// WatchEvery is the time between two looks at the files.
const WatchEvery = 2 * time.Second

// Watch calls changed after each change of the files until ctx ends. A tick is a
// look at the files. seen are the files as read last.
func Watch(ctx context.Context, paths []string, ticks <-chan time.Time, changed func()) {
	seen := contents(paths)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		if now := contents(paths); !slices.Equal(now, seen) {
			seen = now
			changed()
		}
	}
}

// contents returns for each path the hash of the file, or why it is refused.
func contents(paths []string) []string {
	list := make([]string, len(paths))
	for i, path := range paths {
		file, err := trusted.Read(path)
		var refusal *trusted.Refusal
		switch {
		case err == nil:
			list[i] = file.Hash
		case errors.As(err, &refusal):
			list[i] = refusal.Error()
		default:
			list[i] = err.Error()
		}
	}
	return list
}
