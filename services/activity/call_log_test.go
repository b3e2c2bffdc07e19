package activity_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// record runs a log until the calls recorded by write are stored.
func record(t *testing.T, db *gorm.DB, write func(*activity.Calls)) *activity.Calls {
	t.Helper()
	c := activity.NewCalls(db, func() time.Time { return noon }, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	write(c)
	cancel()       // its end writes the rest
	for range 10 { // on a busy machine one final write, which takes at most a few seconds, may not suffice
		c.Run(ctx)
	}
	return c
}

func call(minute int, tool string, ms int64, outcome models.Outcome) models.Call {
	return models.Call{
		At: noon.Add(time.Duration(minute) * time.Minute), ProjectID: "p", Principal: "key:1", Tool: tool, Server: "up",
		DurationUS: ms * 1000, RequestBytes: 10, ResponseBytes: 20, Outcome: outcome, RequestID: fmt.Sprint(tool, minute),
	}
}

func TestCallsAreStoredInOrder(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		var want []models.Call
		for i := range 2_620 { // more than one transaction, and more than one statement
			want = append(want, call(i, "up__a", int64(i), models.CallOK))
		}
		c := record(t, db, func(c *activity.Calls) {
			var running sync.WaitGroup
			for part := range 4 {
				running.Go(func() {
					for i := part; i < len(want); i += 4 {
						c.Record(want[i])
					}
				})
			}
			running.Wait()
		})
		var got []models.Call
		before := ""
		for {
			page, next, err := c.List(t.Context(), activity.CallFilter{ProjectID: "p"}, before, 500)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page...)
			if next == "" {
				break
			}
			before = next
		}
		for i, j := 0, len(got)-1; i < j; i, j = i+1, j-1 {
			got[i], got[j] = got[j], got[i]
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(models.Call{}, "ID")); diff != "" {
			t.Errorf("stored calls (-want +got):\n%s", diff)
		}
		for i := range got {
			id, err := uuid.Parse(got[i].ID)
			if err != nil || id.Version() != 7 || id.Variant() != uuid.RFC4122 || id.String() != got[i].ID || i > 0 && got[i].ID <= got[i-1].ID {
				t.Fatalf("call %d has id %q, %v", i, got[i].ID, err)
			}
		}
		if c.Dropped() != 0 {
			t.Errorf("Lost() = %d, want 0", c.Dropped())
		}
	})
}

func TestCallsAreFound(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		other := call(5, "b", 1, models.CallOK)
		other.ProjectID, other.Server, other.Principal = "q", "", "anonymous"
		c := record(t, db, func(c *activity.Calls) {
			c.Record(call(1, "up__a", 10, models.CallOK))
			c.Record(call(2, "up__b", 20, models.CallFailed))
			c.Record(call(3, "up__a", 30, models.CallToolError))
			c.Record(call(4, "up__a", 40, models.CallCancelled))
			c.Record(other)
		})
		for name, tc := range map[string]struct {
			filter activity.CallFilter
			want   string
		}{
			"all":        {activity.CallFilter{}, "b5 up__a4 up__a3 up__b2 up__a1"},
			"project":    {activity.CallFilter{ProjectID: "q"}, "b5"},
			"tool":       {activity.CallFilter{Tool: "up__a"}, "up__a4 up__a3 up__a1"},
			"server":     {activity.CallFilter{Server: "up", Outcome: models.CallFailed}, "up__b2"},
			"caller":     {activity.CallFilter{Principal: "anonymous"}, "b5"},
			"period":     {activity.CallFilter{Since: noon.Add(2 * time.Minute), Until: noon.Add(4 * time.Minute)}, "up__a3 up__b2"},
			"of nothing": {activity.CallFilter{Tool: "up__"}, ""},
		} {
			calls, next, err := c.List(t.Context(), tc.filter, "", 100)
			if got := ids(calls); err != nil || got != tc.want || next != "" {
				t.Errorf("%s: %s, %q, %v", name, got, next, err)
			}
		}
		first, next, err := c.List(t.Context(), activity.CallFilter{}, "", 4)
		if err != nil || ids(first) != "b5 up__a4 up__a3 up__b2" || next == "" {
			t.Errorf("%s, %q, %v", ids(first), next, err)
		}
		rest, next, err := c.List(t.Context(), activity.CallFilter{}, next, 4)
		if err != nil || ids(rest) != "up__a1" || next != "" {
			t.Errorf("%s, %q, %v", ids(rest), next, err)
		}
		for _, limit := range []int{0, -1, activity.MaxListed + 1} {
			if _, _, err := c.List(t.Context(), activity.CallFilter{}, "", limit); !fault.Is(err, fault.CodeInvalidParameter) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
		if _, _, err := c.List(t.Context(), activity.CallFilter{Tool: "a\x00b"}, "", 1); !fault.Is(err, fault.CodeInvalidParameter) {
			t.Errorf("null character: %v", err)
		}

		last, err := c.Newest(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		if none, err := c.Newest(t.Context(), "none"); err != nil || none != "0" {
			t.Errorf("Newest() = %q, %v", none, err)
		}
		record(t, db, func(c *activity.Calls) {
			c.Record(call(9, "up__new", 1, models.CallOK))
			c.Record(call(10, "up__newer", 1, models.CallOK))
		})
		for limit, want := range map[int]string{1: "up__newer10", 2: "up__newer10 up__new9", 3: "up__newer10 up__new9"} {
			if fresh, err := c.After(t.Context(), activity.CallFilter{ProjectID: "p"}, last, limit); err != nil || ids(fresh) != want {
				t.Errorf("After(%d) = %s, %v", limit, ids(fresh), err)
			}
		}
		if first, err := c.First(t.Context(), activity.CallFilter{ProjectID: "p", Tool: "up__new"}); err != nil || first == nil || first.RequestID != "up__new9" {
			t.Errorf("First() = %v, %v", first, err)
		}
		if first, err := c.First(t.Context(), activity.CallFilter{ProjectID: "p", Tool: "none"}); err != nil || first != nil {
			t.Errorf("First() = %v, %v", first, err)
		}
		last, err = c.Newest(t.Context(), "p")
		if again, _ := c.After(t.Context(), activity.CallFilter{ProjectID: "p"}, last, 10); err != nil || len(again) != 0 {
			t.Errorf("second After() = %s, %v", ids(again), err)
		}
	})
}

func ids(calls []models.Call) (s string) {
	for i, c := range calls {
		if i > 0 {
			s += " "
		}
		s += c.RequestID
	}
	return s
}

func TestCallsSurviveDatabaseOutage(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		if err := db.Migrator().RenameTable("calls", "calls_away"); err != nil {
			t.Fatal(err)
		}
		c := record(t, db, func(c *activity.Calls) { c.Record(call(1, "up__a", 1, models.CallOK)) })
		if err := db.Migrator().RenameTable("calls_away", "calls"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c.Run(ctx)
		calls, _, err := c.List(t.Context(), activity.CallFilter{}, "", 10)
		if err != nil || ids(calls) != "up__a1" || c.Dropped() != 0 {
			t.Errorf("calls %s, %d lost, %v", ids(calls), c.Dropped(), err)
		}
	})
}

// TestCallBatchSizes writes about as many calls as fit a
// statement and a transaction. Some fields equal the previous call's.
func TestCallBatchSizes(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		for _, n := range []int{1, 49, 50, 51, 99, 100, 101, 999, 1_000, 1_001} {
			project := fmt.Sprint("p", n)
			var want []models.Call
			c := record(t, db, func(c *activity.Calls) {
				for i := range n {
					one := call(0, []string{"up__a", "up__b", ""}[i/2%3], int64(i), []models.Outcome{models.CallOK, models.CallFailed}[i/51%2])
					one.At = noon.Add(time.Duration(i) * time.Millisecond)
					one.ProjectID, one.Principal, one.Server = project, []string{"key:1", "", "key:2"}[i%3], []string{"up", ""}[i/50%2]
					one.Code, one.RequestID = []string{"", "UPSTREAM_ERROR"}[i/7%2], fmt.Sprint(i)
					one.RequestBytes, one.ResponseBytes = int64(i)<<33, -int64(i)
					want = append(want, one)
					c.Record(one)
				}
			})
			var got []models.Call
			if err := db.Order("id").Find(&got, "project_id = ?", project).Error; err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(models.Call{}, "ID")); diff != "" {
				t.Fatalf("%d calls (-want +got):\n%s", n, diff)
			}
			if c.Dropped() != 0 {
				t.Errorf("%d of %d calls lost", c.Dropped(), n)
			}
		}
	})
}

// TestInvalidTextsDoNotBlockCalls records tool names that PostgreSQL
// rejects.
func TestInvalidTextsDoNotBlockCalls(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		c := record(t, db, func(c *activity.Calls) {
			c.Record(call(1, "a\x00b", 1, models.CallOK))
			c.Record(call(2, "a\xffb", 1, models.CallOK))
			c.Record(call(3, "a'b\\", 1, models.CallOK))
		})
		calls, _, err := c.List(t.Context(), activity.CallFilter{}, "", 10)
		if err != nil || len(calls) != 3 {
			t.Fatalf("%v, %v", calls, err)
		}
		for i, want := range []string{"a'b\\", "a\uFFFDb", "a\uFFFDb"} {
			if calls[i].Tool != want {
				t.Errorf("tool %q stored as %q", want, calls[i].Tool)
			}
		}
	})
}

// TestCallsAreStoredOnce writes calls again, as after a lost response of the
// database.
func TestCallsAreStoredOnce(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		for range 2 {
			record(t, db, func(c *activity.Calls) {
				for i := range 60 {
					one := call(i, "up__a", 1, models.CallOK)
					one.ID = fmt.Sprintf("%08d", i)
					c.Record(one)
				}
			})
		}
		c := record(t, db, func(c *activity.Calls) { c.Record(call(70, "up__after", 1, models.CallOK)) })
		calls, _, err := c.List(t.Context(), activity.CallFilter{}, "", 100)
		if err != nil || len(calls) != 61 {
			t.Errorf("%d calls, %v", len(calls), err)
		}
	})
}
