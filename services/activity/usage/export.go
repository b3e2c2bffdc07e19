package usage

import (
	"bytes"
	"context"
	"encoding/csv"
	"io"
	"strconv"

	"mcpgateway/models"
	"mcpgateway/services/activity/export"
	"mcpgateway/services/fault"
)

// exportRows is the number of rows of one part of an Export.
const exportRows = 1_000

// Names returns the display names of callers and people in an Export.
type Names struct {
	Caller func(ctx context.Context, principal string) string
	Person func(ctx context.Context, userID string) string
}

// Export is a CSV file with one row for each day, tool, caller and toolset, oldest
// first. It is created while it is read.
type Export struct {
	store   *Store
	project string
	period  Period
	names   Names
	after   models.UsageDay
	begun   bool
	over    bool
}

// ExportCSV returns the numbers of a project as a file (RFC 4180). Cells that a
// spreadsheet would interpret as a formula start with an apostrophe.
func (s *Store) ExportCSV(projectID string, p Period, names Names) *Export {
	return &Export{store: s, project: projectID, period: p, names: names}
}

// Next returns the next part of the file, and io.EOF after the last. It returns a
// database error as a fault.
func (e *Export) Next(ctx context.Context) ([]byte, error) {
	if e.over {
		return nil, io.EOF
	}
	query := e.store.of(ctx, e.period).Where("project_id = ?", e.project)
	if a := e.after; a.Day != "" {
		query = query.Where("(day, server, tool, principal, toolset) > (?, ?, ?, ?, ?)", a.Day, a.Server, a.Tool, a.Principal, a.Toolset)
	}
	var rows []models.UsageDay
	if err := query.Order("day, server, tool, principal, toolset").Limit(exportRows).Find(&rows).Error; err != nil {
		return nil, fault.Internal(err)
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	if !e.begun {
		_ = w.Write([]string{"day", "server", "tool", "caller", "callerId", "person", "personId", "toolset", "calls", "failed", "requestBytes", "responseBytes"})
	}
	for _, row := range rows {
		_ = w.Write(e.cells(ctx, row)) // writing to a buffer never fails
	}
	w.Flush()
	e.begun, e.over = true, len(rows) < exportRows
	if !e.over {
		e.after = rows[len(rows)-1]
	}
	return b.Bytes(), nil
}

func (e *Export) cells(ctx context.Context, row models.UsageDay) []string {
	person := ""
	if row.UserID != "" {
		person = e.names.Person(ctx, row.UserID)
	}
	cells := []string{row.Day, row.Server, row.Tool, e.names.Caller(ctx, row.Principal), row.Principal, person, row.UserID, row.Toolset}
	for i, cell := range cells {
		cells[i] = export.EscapeFormula(cell)
	}
	for _, n := range []int64{row.Calls, row.Failed, row.RequestBytes, row.ResponseBytes} {
		cells = append(cells, strconv.FormatInt(n, 10))
	}
	return cells
}
