package inventory_test

import (
	"testing"
	"time"

	"mcpgateway/services/inventory"
)

func TestLastSyncIsLatest(t *testing.T) {
	early, late := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 5, 1, 12, 0, 1, 0, time.UTC)
	for _, tc := range []struct {
		known  time.Time
		stored *time.Time
		want   *time.Time
	}{
		{time.Time{}, nil, nil},
		{early, nil, &early},
		{time.Time{}, &early, &early},
		{early, &late, &late},
		{late, &early, &late},
	} {
		got := inventory.Health{Synced: tc.known}.LastSync(tc.stored)
		if (got == nil) != (tc.want == nil) || got != nil && !got.Equal(*tc.want) {
			t.Errorf("Health{Synced: %s}.LastSync(%v) = %v, want %v", tc.known, tc.stored, got, tc.want)
		}
	}
}
