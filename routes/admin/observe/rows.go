package observe

import (
	"time"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	views "mcpgateway/views/admin"
)

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// rowOf returns the row of a call.
func rowOf(call models.Call, q *activityQuery, caller string) views.ActivityRow {
	return views.ActivityRow{
		ID: call.ID, At: call.At.UTC(), Tool: toolWords(call.Tool), Caller: caller,
		Outcome: string(call.Outcome), Code: call.Code, Duration: micros(call.DurationUS), URL: q.path() + "/" + call.ID,
	}
}

// daysOf groups rows by day, newest first.
func daysOf(rows []views.ActivityRow) []views.ActivityDay {
	var days []views.ActivityDay
	for _, row := range rows {
		day := row.At.Truncate(24 * time.Hour)
		if n := len(days); n == 0 || !days[n-1].Day.Equal(day) {
			days = append(days, views.ActivityDay{Day: day})
		}
		last := &days[len(days)-1]
		last.Rows = append(last.Rows, row)
	}
	return days
}

// toolWords returns the name of a tool. An invalid call has none.
func toolWords(name string) string {
	if name == "" {
		return "(no tool named)"
	}
	return name
}

// serverWords returns the label of a server in the numbers.
func serverWords(server string) string {
	switch server {
	case activity.ServerBuiltin:
		return "Built-in tools"
	case activity.ServerNone:
		return "No server (unknown tool)"
	}
	return server
}
