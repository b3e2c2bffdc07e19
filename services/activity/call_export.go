package activity

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	"mcpgateway/models"
)

// MaxExported is the maximum number of calls in an export. The newest are
// exported.
const MaxExported = 100_000

// CallRecord is the exported form of a call.
type CallRecord struct {
	ID            string         `json:"id"`
	At            time.Time      `json:"at"`
	Project       string         `json:"projectSlug"` // empty if the project was deleted
	Principal     string         `json:"principal"`
	Tool          string         `json:"tool"`
	Server        string         `json:"server"`
	DurationMS    float64        `json:"durationMs"`
	RequestBytes  int64          `json:"requestBytes"`
	ResponseBytes int64          `json:"responseBytes"`
	Outcome       models.Outcome `json:"outcome"`
	Code          string         `json:"code"`
	RequestID     string         `json:"requestId"`
}

// NewCallRecord returns the record of a call. slug is its project's.
func NewCallRecord(call models.Call, slug string) CallRecord {
	return CallRecord{
		ID: call.ID, At: call.At.UTC(), Project: slug, Principal: call.Principal, Tool: call.Tool, Server: call.Server,
		DurationMS: float64(call.DurationUS) / 1000, RequestBytes: call.RequestBytes, ResponseBytes: call.ResponseBytes,
		Outcome: call.Outcome, Code: call.Code, RequestID: call.RequestID,
	}
}

// Export is a file of calls that is created while it is read.
type Export struct {
	calls  *Calls
	ctx    context.Context
	filter CallFilter
	slug   func(projectID string) string
	encode func(b *bytes.Buffer, records []CallRecord, first, last bool)

	left   int
	before string
	begun  bool
	over   bool
}

// ExportCSV returns the matching calls as CSV (RFC 4180), newest first, at most
// MaxExported. slug returns a project's slug. Cells that a spreadsheet would
// interpret as a formula start with an apostrophe.
func (c *Calls) ExportCSV(ctx context.Context, f CallFilter, slug func(projectID string) string) *Export {
	return &Export{calls: c, ctx: ctx, filter: f, slug: slug, left: MaxExported, encode: encodeCSV}
}

// ExportJSON is like ExportCSV but returns a JSON array.
func (c *Calls) ExportJSON(ctx context.Context, f CallFilter, slug func(projectID string) string) *Export {
	return &Export{calls: c, ctx: ctx, filter: f, slug: slug, left: MaxExported, encode: encodeJSON}
}

// Next returns the next part of the file, and io.EOF after the last. It returns
// the faults of List.
func (e *Export) Next() ([]byte, error) {
	if e.over {
		return nil, io.EOF
	}
	calls, next, err := e.calls.List(e.ctx, e.filter, e.before, min(e.left, MaxListed))
	if err != nil {
		return nil, err
	}
	records := make([]CallRecord, len(calls))
	for i, call := range calls {
		records[i] = NewCallRecord(call, e.slug(call.ProjectID))
	}
	e.left -= len(calls)
	e.before, e.over = next, next == "" || e.left == 0
	var b bytes.Buffer
	e.encode(&b, records, !e.begun, e.over)
	e.begun = true
	return b.Bytes(), nil
}

// csvColumns are the columns, named like the record's fields.
var csvColumns = []string{"at", "projectSlug", "principal", "tool", "server", "durationMs", "requestBytes", "responseBytes", "outcome", "code", "requestId", "id"}

func encodeCSV(b *bytes.Buffer, records []CallRecord, first, _ bool) {
	w := csv.NewWriter(b)
	w.UseCRLF = true
	write := func(cells ...string) { _ = w.Write(cells) } // writing to a buffer never fails
	if first {
		write(csvColumns...)
	}
	for _, r := range records {
		write(r.At.Format(time.RFC3339Nano), escapeFormula(r.Project), escapeFormula(r.Principal), escapeFormula(r.Tool), escapeFormula(r.Server),
			strconv.FormatFloat(r.DurationMS, 'f', 3, 64), strconv.FormatInt(r.RequestBytes, 10), strconv.FormatInt(r.ResponseBytes, 10),
			escapeFormula(string(r.Outcome)), escapeFormula(r.Code), escapeFormula(r.RequestID), escapeFormula(r.ID))
	}
	w.Flush()
}

// escapeFormula escapes a cell that a spreadsheet would interpret as a formula
// (OWASP, "CSV Injection").
func escapeFormula(cell string) string {
	if cell != "" && strings.IndexByte("=+-@\t\r\n", cell[0]) >= 0 || strings.HasPrefix(cell, "＝") || strings.HasPrefix(cell, "＋") || strings.HasPrefix(cell, "－") || strings.HasPrefix(cell, "＠") {
		return "'" + cell
	}
	return cell
}

func encodeJSON(b *bytes.Buffer, records []CallRecord, first, last bool) {
	if first {
		b.WriteByte('[')
	}
	for i, r := range records {
		if i > 0 || !first {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		line, err := json.Marshal(r)
		if err != nil {
			continue // unreachable: numbers and texts can always be encoded
		}
		b.Write(line)
	}
	if last {
		b.WriteString("\n]\n")
	}
}
