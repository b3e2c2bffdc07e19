package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	logfile "mcpgateway/services/activity/export"
)

// TestAuditExport exports a page of rows less one, a page, and one row more, each
// export continuing the one before.
func TestAuditExport(t *testing.T) {
	environ := surroundings(t)
	export := func(after int) []string {
		t.Helper()
		code, out, errs := commandLine(t, environ, "", "audit", "export", "--after", fmt.Sprint(after))
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		if want := fmt.Sprintf("Export complete: %d rows", strings.Count(out, "\n")-1); !strings.Contains(errs, want) {
			t.Errorf("standard error %q, want %q", errs, want)
		}
		return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	}
	if code, _, errs := commandLine(t, environ, "", "migrate", "up"); code != 0 {
		t.Fatal(errs)
	}
	db := database(t, environ)
	log := activity.NewAudit(db, time.Now)
	at := 0
	for _, n := range []int{0, logfile.PageSize - 1, logfile.PageSize, logfile.PageSize + 1} {
		entries := make([]activity.Entry, n)
		for i := range entries {
			entries[i].Action = "a.<b>"
		}
		if err := log.RecordAll(db, entries); err != nil {
			t.Fatal(err)
		}
		lines := export(at)
		at += n
		if want := fmt.Sprintf(`{"complete":true,"rows":%d,"last":%d}`, n, at); len(lines) != n+1 || lines[n] != want {
			t.Fatalf("%d lines, the last %s, want %s", len(lines), lines[len(lines)-1], want)
		}
		if n > 0 && (!strings.HasPrefix(lines[0], fmt.Sprintf(`{"seq":%d,`, at-n+1)) || !strings.Contains(lines[0], `"action":"a.<b>"`)) {
			t.Errorf("first line %s", lines[0])
		}
	}
	var rows int64
	if err := db.Model(&models.AuditEntry{}).Count(&rows).Error; err != nil || int64(len(export(0))) != rows+1 {
		t.Errorf("%d rows (%v)", rows, err)
	}
	for _, args := range [][]string{{"--after", "-1"}, {"--after", "x"}, {"more"}, {"--format", "json"}} {
		if code, _, _ := commandLine(t, environ, "", append([]string{"audit", "export"}, args...)...); code != exitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
