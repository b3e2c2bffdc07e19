package files

import (
	"context"
	"errors"
	"slices"
	"time"

	"mcpgateway/services/runner/trusted"
	"mcpgateway/services/runners/wire"
)

// WatchEvery is the time between two checks of the files.
const WatchEvery = 2 * time.Second

// Watch calls changed after each change of the files until ctx ends. read are the
// files as read before, in the order of the paths. Each tick is a check.
func Watch(ctx context.Context, paths []string, read []wire.File, ticks <-chan time.Time, changed func()) {
	seen := make([]string, len(read))
	for i, file := range read {
		seen[i] = file.SHA256
	}
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
