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

// MaxExported is how many calls one export holds, the newest ones.
const MaxExported = 100_000

// CallRecord is a call as programs get it.
type CallRecord struct {
	ID            string         `json:"id"`
	At            time.Time      `json:"at"`
	Project       string         `json:"projectSlug"` // empty when the project is gone
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

// RecordOf returns the record of a call of the project with the slug.
func RecordOf(call models.Call, slug string) CallRecord {
	return CallRecord{
		ID: call.ID, At: call.At.UTC(), Project: slug, Principal: call.Principal, Tool: call.Tool, Server: call.Server,
		DurationMS: float64(call.DurationUS) / 1000, RequestBytes: call.RequestBytes, ResponseBytes: call.ResponseBytes,
		Outcome: call.Outcome, Code: call.Code, RequestID: call.RequestID,
	}
}

// Export is a file of calls that is made while it is read.
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

// ExportCSV returns the calls that match as CSV (RFC 4180), the newest first,
// at most MaxExported. slug names projects. Cells that a spreadsheet would
// take for a formula begin with an apostrophe.
func (c *Calls) ExportCSV(ctx context.Context, f CallFilter, slug func(projectID string) string) *Export {
	return &Export{calls: c, ctx: ctx, filter: f, slug: slug, left: MaxExported, encode: encodeCSV}
}

// ExportJSON returns the same as one JSON array.
func (c *Calls) ExportJSON(ctx context.Context, f CallFilter, slug func(projectID string) string) *Export {
	return &Export{calls: c, ctx: ctx, filter: f, slug: slug, left: MaxExported, encode: encodeJSON}
}

// Next returns the next piece of the file, and io.EOF behind the last. It
// returns the faults of List.
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
		records[i] = RecordOf(call, e.slug(call.ProjectID))
	}
	e.left -= len(calls)
	e.before, e.over = next, next == "" || e.left == 0
	var b bytes.Buffer
	e.encode(&b, records, !e.begun, e.over)
	e.begun = true
	return b.Bytes(), nil
}

// csvColumns are the names of the columns, which are those of the records.
var csvColumns = []string{"at", "projectSlug", "principal", "tool", "server", "durationMs", "requestBytes", "responseBytes", "outcome", "code", "requestId", "id"}

func encodeCSV(b *bytes.Buffer, records []CallRecord, first, _ bool) {
	w := csv.NewWriter(b)
	w.UseCRLF = true
	write := func(cells ...string) { _ = w.Write(cells) } // a buffer takes everything
	if first {
		write(csvColumns...)
	}
	for _, r := range records {
		write(r.At.Format(time.RFC3339Nano), harmless(r.Project), harmless(r.Principal), harmless(r.Tool), harmless(r.Server),
			strconv.FormatFloat(r.DurationMS, 'f', 3, 64), strconv.FormatInt(r.RequestBytes, 10), strconv.FormatInt(r.ResponseBytes, 10),
			harmless(string(r.Outcome)), harmless(r.Code), harmless(r.RequestID), harmless(r.ID))
	}
	w.Flush()
}

// harmless returns a cell that no spreadsheet takes for a formula (OWASP, "CSV
// Injection").
func harmless(cell string) string {
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
			continue // numbers and texts can always be written
		}
		b.Write(line)
	}
	if last {
		b.WriteString("\n]\n")
	}
}
