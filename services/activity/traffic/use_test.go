package traffic_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity/traffic"
)

func TestToolUse(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		const day = 24 * time.Hour
		now := time.Hour // of the store, after noon
		tool := func(name string) func(*models.Call) { return func(c *models.Call) { c.Tool = name } }
		store := stored(t, db,
			call(now, 1, models.CallOK), call(0, 1, models.CallFailed),
			call(now-7*day+2*time.Second, 1, models.CallOK), call(now-7*day-time.Second, 1, models.CallOK),
			call(now-8*day, 1, models.CallOK, tool("up__b")),
			call(now-30*day+2*time.Second, 1, models.CallOK, tool("up__c")),
			call(now-30*day-time.Second, 1, models.CallOK, tool("up__d")),
			call(0, 1, models.CallOK, func(c *models.Call) { c.ProjectID = "q" }),
		)
		got, err := store.ToolUse(t.Context(), "p")
		want := map[string]traffic.Use{
			"up__a": {Calls: 3, Last: noon.Add(now)}, "up__b": {Last: noon.Add(now - 8*day)}, "up__c": {Last: noon.Add(now - 30*day + 2*time.Second)},
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		none, err := store.ToolUse(t.Context(), "other")
		if err != nil || len(none) != 0 {
			t.Errorf("unknown project: %v, %v", none, err)
		}
	})
}

func TestToolUseLimit(t *testing.T) {
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) {
		var calls []models.Call
		for i := range 3 {
			for range i + 1 {
				calls = append(calls, call(0, 1, models.CallOK, func(c *models.Call) { c.Tool = fmt.Sprint("up__", i) }))
			}
		}
		store := stored(t, db, calls...)
		for limit, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 3} {
			got, err := store.UseOf(t.Context(), "p", limit)
			if err != nil || len(got) != want || got["up__2"].Calls != 3 {
				t.Errorf("limit %d: %v, %v", limit, got, err)
			}
		}
	})
}
