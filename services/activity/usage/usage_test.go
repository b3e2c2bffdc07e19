package usage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/activity/usage"
	"mcpgateway/services/fault"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func now() time.Time { return noon }

// record stores calls as the gateway does.
func record(db *gorm.DB, calls ...models.Call) {
	c := activity.NewCalls(db, now, slog.New(slog.DiscardHandler))
	for _, call := range calls {
		c.Record(call)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	c.Run(ended)
}

// calls are those of two days in project p, and one of another project.
func calls() []models.Call {
	call := func(day int, principal, user, server, tool, toolset string, outcome models.Outcome) models.Call {
		return models.Call{
			At: noon.AddDate(0, 0, day), ProjectID: "p", Principal: principal, UserID: user, Server: server, Tool: tool, Toolset: toolset,
			RequestBytes: 10, ResponseBytes: 100, Outcome: outcome,
		}
	}
	other := call(0, "key:1", "", "up", "up__a", "", models.CallOK)
	other.ProjectID = "q"
	return []models.Call{
		call(0, "key:1", "", "up", "up__a", "", models.CallOK), call(0, "key:1", "", "up", "up__a", "", models.CallToolError),
		call(0, "key:2", "u1", "up", "up__a", "small", models.CallFailed), call(-1, "user:u1", "u1", "up", "up__b", "", models.CallCancelled),
		call(-1, "user:u1", "u1", "", "gateway_search", "", models.CallOK), call(-1, "anonymous", "", "", "any text of a client", "", models.CallFailed),
		other,
	}
}

func TestReport(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		record(db, calls()[:4]...)
		record(db, calls()[4:]...)
		s := usage.New(db, now)
		got, err := s.Report(t.Context(), "p", usage.LastDays(3, noon))
		if err != nil {
			t.Fatal(err)
		}
		n := func(calls, failed int64) usage.Numbers {
			return usage.Numbers{Calls: calls, Failed: failed, RequestBytes: 10 * calls, ResponseBytes: 100 * calls}
		}
		day := func(d int) time.Time { return noon.Truncate(24*time.Hour).AddDate(0, 0, d) }
		want := &usage.Report{
			Totals: n(6, 3), Days: []usage.Day{{Day: day(-2)}, {day(-1), n(3, 1)}, {day(0), n(3, 2)}},
			Tools:    []usage.Row{{"up__a", "up", n(3, 2)}, {"", "", n(1, 1)}, {"gateway_search", "", n(1, 0)}, {"up__b", "up", n(1, 0)}},
			Keys:     []usage.Row{{"key:1", "", n(2, 1)}, {"anonymous", "", n(1, 1)}, {"key:2", "", n(1, 1)}},
			People:   []usage.Row{{"u1", "", n(3, 1)}},
			Toolsets: []usage.Row{{"", "", n(5, 2)}, {"small", "", n(1, 1)}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Report() (-want +got):\n%s", diff)
		}
		all, err := s.Projects(t.Context(), usage.LastDays(1, noon))
		if diff := cmp.Diff(map[string]usage.Numbers{"p": n(3, 2), "q": n(1, 0)}, all); err != nil || diff != "" {
			t.Errorf("Projects() (-want +got):\n%s%v", diff, err)
		}
	})
}

func TestExport(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		record(db, calls()...)
		record(db, models.Call{At: noon, ProjectID: "p", Principal: "key:1", Server: "up", Tool: "=cmd()", Outcome: models.CallOK})
		names := usage.Names{
			Caller: func(_ context.Context, p string) string { return "caller " + p },
			Person: func(_ context.Context, id string) string { return "person " + id },
		}
		file := read(t, usage.New(db, now).ExportCSV("p", usage.LastDays(2, noon), names))
		want := strings.ReplaceAll(`day,server,tool,caller,callerId,person,personId,toolset,calls,failed,requestBytes,responseBytes
2026-03-09,,,caller anonymous,anonymous,,,,1,1,10,100
2026-03-09,,gateway_search,caller user:u1,user:u1,person u1,u1,,1,0,10,100
2026-03-09,up,up__b,caller user:u1,user:u1,person u1,u1,,1,0,10,100
2026-03-10,up,'=cmd(),caller key:1,key:1,,,,1,0,0,0
2026-03-10,up,up__a,caller key:1,key:1,,,,2,1,20,200
2026-03-10,up,up__a,caller key:2,key:2,person u1,u1,small,1,1,10,100
`, "\n", "\r\n")
		if diff := cmp.Diff(want, file); diff != "" {
			t.Errorf("export (-want +got):\n%s", diff)
		}
	})
}

func read(t *testing.T, export *usage.Export) string {
	t.Helper()
	var b strings.Builder
	for {
		piece, err := export.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		b.Write(piece)
	}
}

// TestLongExports have as many rows as fit a part, one less and one more.
func TestLongExports(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		name := func(_ context.Context, id string) string { return id }
		for _, n := range []int{999, 1_000, 1_001} {
			rows := make([]models.UsageDay, n)
			for i := range rows {
				rows[i] = models.UsageDay{ProjectID: fmt.Sprint(n), Day: "2026-03-10", Tool: fmt.Sprint("t", i), Calls: 1}
			}
			if err := db.CreateInBatches(rows, 500).Error; err != nil {
				t.Fatal(err)
			}
			file := read(t, usage.New(db, now).ExportCSV(fmt.Sprint(n), usage.LastDays(1, noon), usage.Names{Caller: name, Person: name}))
			if got := strings.Count(file, "\r\n") - 1; got != n {
				t.Errorf("%d rows exported, want %d", got, n)
			}
		}
	})
}

func TestRowsAreLimited(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, n := range []int{usage.MaxRows - 1, usage.MaxRows, usage.MaxRows + 1} {
			rows := make([]models.UsageDay, n)
			for i := range rows {
				rows[i] = models.UsageDay{ProjectID: fmt.Sprint(n), Day: "2026-03-10", Tool: fmt.Sprint("t", i), Calls: 1}
			}
			if err := db.CreateInBatches(rows, 500).Error; err != nil {
				t.Fatal(err)
			}
			r, err := usage.New(db, now).Report(t.Context(), fmt.Sprint(n), usage.LastDays(1, noon))
			if err != nil || len(r.Tools) != min(n, usage.MaxRows) || r.Cut != (n > usage.MaxRows) || r.Totals.Calls != int64(n) {
				t.Errorf("%d tools: %d listed, cut %v, %d calls, %v", n, len(r.Tools), r.Cut, r.Totals.Calls, err)
			}
		}
	})
}

func TestPeriods(t *testing.T) {
	for _, tt := range []struct {
		from, to string
		days     int // 0 is invalid
	}{
		{"2026-03-10", "2026-03-10", 1}, {"2026-03-09", "2026-03-10", 2}, {"2026-03-10", "2026-03-09", 0}, {"2026-03-10", "", 0}, {"", "2026-03-10", 0},
		{"2026-02-30", "2026-03-10", 0}, {"2025-03-11", "2026-03-10", 365}, {"2025-03-10", "2026-03-10", 366}, {"2025-03-09", "2026-03-10", 0},
	} {
		p, err := usage.Between(tt.from, tt.to)
		if tt.days == 0 {
			if !fault.Is(err, fault.CodeInvalidParameter) {
				t.Errorf("Between(%q, %q) = %v, want INVALID_PARAMETER", tt.from, tt.to, err)
			}
		} else if err != nil || p.Days() != tt.days || p.First() != tt.from || p.Last() != tt.to {
			t.Errorf("Between(%q, %q) = %d days, %v, want %d", tt.from, tt.to, p.Days(), err, tt.days)
		}
	}
}

func TestOldDaysAreRemoved(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		day := func(age time.Duration) string { return noon.Add(-age).Format(activity.UsageDayFormat) }
		for _, age := range []time.Duration{activity.UsageRetention + 24*time.Hour, activity.UsageRetention, 0} {
			if err := db.Create(&models.UsageDay{ProjectID: "p", Day: day(age)}).Error; err != nil {
				t.Fatal(err)
			}
		}
		if err := usage.New(db, now).Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		var days []string
		if err := db.Model(&models.UsageDay{}).Order("day").Pluck("day", &days).Error; err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{day(activity.UsageRetention), day(0)}, days); diff != "" {
			t.Errorf("days (-want +got):\n%s", diff)
		}
	})
}

// BenchmarkReport reads a month with a million calls by 50 keys of 100 tools, each
// on every day.
func BenchmarkReport(b *testing.B) {
	for dialect, dsn := range map[string]func(testing.TB) string{"sqlite": modelstest.SQLite, "postgres": modelstest.Postgres} {
		b.Run(dialect, func(b *testing.B) {
			db := modelstest.Open(b, dsn(b))
			for day := range 30 {
				rows := make([]models.UsageDay, 0, 5_000)
				for i := range cap(rows) {
					rows = append(rows, models.UsageDay{
						ProjectID: "01991f9e-7a63-7c3e-9d4f-000000000001", Day: noon.AddDate(0, 0, -day).Format(activity.UsageDayFormat), Server: fmt.Sprint("server", i%10), Tool: fmt.Sprintf("server%d__tool_%d", i%10, i%100),
						Principal: fmt.Sprintf("key:01991f9e-7a63-7c3e-9d4f-%012d", i/100), UserID: fmt.Sprint(i / 500), Calls: 7, RequestBytes: 100, ResponseBytes: 1000,
					})
				}
				if err := db.CreateInBatches(rows, 1_000).Error; err != nil {
					b.Fatal(err)
				}
			}
			s := usage.New(db, now)
			for b.Loop() {
				r, err := s.Report(b.Context(), "01991f9e-7a63-7c3e-9d4f-000000000001", usage.LastDays(30, noon))
				if err != nil || r.Totals.Calls != 1_050_000 {
					b.Fatal(r, err)
				}
			}
		})
	}
}
