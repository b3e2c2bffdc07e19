package services

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpgateway/services/inventory"
	"mcpgateway/services/locks"
)

func TestSweepContinuesAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		var log bytes.Buffer
		began := time.Now()
		w := sweep{"dust", time.Hour, func(context.Context) error {
			at = append(at, time.Since(began))
			if len(at) == 1 {
				return errors.New("sweep failure")
			}
			return nil
		}, slog.New(slog.NewTextHandler(&log, nil))}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		w.run(ctx)
		if want := []time.Duration{time.Minute, time.Hour + time.Minute, 2*time.Hour + time.Minute}; !slices.Equal(at, want) {
			t.Errorf("swept at %v, want %v", at, want)
		}
		if !strings.Contains(log.String(), `sweep=dust error="sweep failure"`) || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("log = %s", log.String())
		}
	})
}

func TestSweepNamesAreUnique(t *testing.T) {
	s := &Services{locks: &locks.Locks{}, Syncer: &inventory.Syncer{}}
	var names []string
	for _, w := range s.sweeps() {
		names = append(names, w.name)
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) || slices.Contains(names, "") {
		t.Errorf("sweeps = %q", names)
	}
}
