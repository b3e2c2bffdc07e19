package main

import (
	"strings"
	"testing"
	"time"
)

// TestExportProgress reports just before, at and after the time or the number of
// rows of a line.
func TestExportProgress(t *testing.T) {
	at := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	type step struct {
		after time.Duration
		rows  int
	}
	tests := []struct {
		name             string
		terminal, silent bool
		fails            bool
		steps            []step
		want             string
	}{
		{"terminal", true, false, false, []step{{progressEvery - 1, 1000}, {1, 2000}, {1, 3000}, {progressEvery - 1, 4000}},
			"\r\x1b[KExported 2000 rows, up to 2026-11-29T08:00:00Z\r\x1b[KExported 4000 rows, up to 2026-11-29T08:00:00Z\r\x1b[KExport complete: 4000 rows, up to 2026-11-29T08:00:00Z\n"},
		{"short on a terminal", true, false, false, []step{{progressEvery - 1, 1}}, "Export complete: 1 row of 2026-11-29T08:00:00Z\n"},
		{"rows on a terminal", true, true, false, []step{{progressEvery, 5}}, "Export complete: 5 rows, up to 2026-11-29T08:00:00Z\n"},
		{"file", false, false, false, []step{{time.Hour, progressRows - 1}}, "Export complete: 99999 rows, up to 2026-11-29T08:00:00Z\n"},
		{"long file", false, false, false, []step{{0, progressRows}, {0, progressRows + 1}, {0, 2*progressRows - 1}, {0, 2*progressRows + 1}},
			"Exported 100000 rows, up to 2026-11-29T08:00:00Z\nExported 200001 rows, up to 2026-11-29T08:00:00Z\nExport complete: 200001 rows, up to 2026-11-29T08:00:00Z\n"},
		{"error on a terminal", true, false, true, []step{{progressEvery, 1000}}, "\r\x1b[KExported 1000 rows, up to 2026-11-29T08:00:00Z\n"},
		{"error in a file", false, false, true, []step{{progressEvery, 1000}}, ""},
		{"no rows", false, false, false, []step{{0, 0}}, "Export complete: 0 rows\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			now := at
			p := newExportProgress(streams{out: &out, err: &out}, func() time.Time { return now })
			p.terminal, p.silent = tt.terminal, tt.silent
			last := 0
			for _, s := range tt.steps {
				now = now.Add(s.after)
				p.report(s.rows, at)
				last = s.rows
			}
			if tt.fails {
				p.stop()
			} else {
				p.finish(last, at)
			}
			if out.String() != tt.want {
				t.Errorf("progress %q, want %q", out.String(), tt.want)
			}
		})
	}
}
