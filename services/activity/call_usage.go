package activity

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mcpgateway/models"
)

// UsageRetention is the maximum age of the numbers of a day.
const UsageRetention = 400 * 24 * time.Hour

// UsageDayFormat is the format of the day of models.UsageDay.
const UsageDayFormat = time.DateOnly

// usageColumns are the columns of models.UsageDay in the order of writing: first
// those of its key.
const usageColumns = "project_id, day, server, tool, principal, toolset, user_id, calls, failed, request_bytes, response_bytes"

// addUsage adds the numbers of new rows to those of existing ones.
const addUsage = ` ON CONFLICT (project_id, day, server, tool, principal, toolset) DO UPDATE SET user_id = excluded.user_id,
	calls = usage_days.calls + excluded.calls, failed = usage_days.failed + excluded.failed,
	request_bytes = usage_days.request_bytes + excluded.request_bytes, response_bytes = usage_days.response_bytes + excluded.response_bytes`

// countedTool is toolOfUsage in SQL.
const countedTool = "CASE WHEN server = '' AND outcome IN ('" + string(models.CallFailed) + "', '" + string(models.CallCancelled) + "') THEN '' ELSE tool END"

// usageInPostgres counts the calls in added by day. Rows are written in the order
// of their keys, so that replicas don't block each other.
const usageInPostgres = "INSERT INTO usage_days (" + usageColumns + ") " +
	"SELECT project_id, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, server, " + countedTool + " AS counted, principal, toolset, MAX(user_id), " +
	"COUNT(*), COUNT(*) FILTER (WHERE outcome IN ('" + string(models.CallFailed) + "', '" + string(models.CallToolError) + "')), " +
	"SUM(request_bytes)::bigint, SUM(response_bytes)::bigint FROM added GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6" + addUsage

// usageKey is the primary key of models.UsageDay.
type usageKey struct{ project, day, server, tool, principal, toolset string }

func (k usageKey) compare(with usageKey) int {
	return cmp.Or(cmp.Compare(k.project, with.project), cmp.Compare(k.day, with.day), cmp.Compare(k.server, with.server),
		cmp.Compare(k.tool, with.tool), cmp.Compare(k.principal, with.principal), cmp.Compare(k.toolset, with.toolset))
}

// toolOfUsage returns the tool that a call counts for: its own, unless it failed
// before a server was reached. Clients choose the names of unknown tools, so
// counting those would not be bounded.
func toolOfUsage(call *models.Call) string {
	if call.Server == "" && (call.Outcome == models.CallFailed || call.Outcome == models.CallCancelled) {
		return ""
	}
	return call.Tool
}

// usageOf counts calls by day.
func usageOf(calls []*models.Call) map[usageKey]*models.UsageDay {
	all := map[usageKey]*models.UsageDay{}
	for _, call := range calls {
		key := usageKey{call.ProjectID, call.At.UTC().Format(UsageDayFormat), call.Server, toolOfUsage(call), call.Principal, call.Toolset}
		row := all[key]
		if row == nil {
			row = &models.UsageDay{}
			all[key] = row
		}
		row.UserID = call.UserID
		row.Calls++
		if call.Outcome == models.CallFailed || call.Outcome == models.CallToolError {
			row.Failed++
		}
		row.RequestBytes += call.RequestBytes
		row.ResponseBytes += call.ResponseBytes
	}
	return all
}

// addUsageInSQLite adds calls to the numbers of their days, in the transaction of
// the connection.
func addUsageInSQLite(db *sqlite3.Conn, calls []*models.Call) error {
	if len(calls) == 0 {
		return nil
	}
	stmt, _, err := db.Prepare("INSERT INTO usage_days (" + usageColumns + ") VALUES (?" + strings.Repeat(", ?", strings.Count(usageColumns, ",")) + ")" + addUsage)
	if err != nil {
		return err
	}
	defer stmt.Close()
	all := usageOf(calls)
	for _, key := range slices.SortedFunc(maps.Keys(all), usageKey.compare) {
		row, param, bound := all[key], 0, error(nil)
		for _, text := range []string{key.project, key.day, key.server, key.tool, key.principal, key.toolset, row.UserID} {
			param++
			bound = errors.Join(bound, stmt.BindText(param, text))
		}
		for _, number := range []int64{row.Calls, row.Failed, row.RequestBytes, row.ResponseBytes} {
			param++
			bound = errors.Join(bound, stmt.BindInt64(param, number))
		}
		if err := errors.Join(bound, stmt.Exec()); err != nil {
			return err
		}
	}
	return nil
}
