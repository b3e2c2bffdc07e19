// Package export creates files of the call log and the audit log while they are
// read.
package export

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"mcpgateway/services/fault"
)

// PageSize is the number of rows that are read at once.
const PageSize = 1_000

// Format is a format of files.
type Format string

// The formats. CSV follows RFC 4180; JSONL has one JSON object a line.
const (
	CSV   Format = "csv"
	JSONL Format = "jsonl"
)

// ParseFormat returns the format with a name, or INVALID_PARAMETER.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case CSV, JSONL:
		return f, nil
	default:
		return "", fault.Invalid("format must be csv or jsonl.")
	}
}

// MediaType returns the content type of files.
func (f Format) MediaType() string {
	if f == CSV {
		return "text/csv; charset=utf-8; header=present"
	}
	return "application/x-ndjson"
}

// Position identifies a row: its number or its id.
type Position interface{ int64 | string }

type row[P Position] struct {
	id     P
	at     time.Time
	cells  []string
	record any // in JSON
}

// source reads the rows of a file.
type source[P Position] struct {
	columns []string
	// newest returns the position of the newest row, or the zero value without rows.
	newest func(ctx context.Context) (P, error)
	// read returns at most PageSize rows after a position, oldest first, up to and
	// with another.
	read func(ctx context.Context, after, through P) ([]row[P], error)
}

// File is a file of rows, oldest first, with those that exist when it is begun.
// Its last line has the number of rows and the position of the last, so that a
// truncated file is detected. It must not be used concurrently.
type File[P Position] struct {
	source  source[P]
	format  Format
	through P
	end     end[P]
	at      time.Time // of the last row
	begun   bool
	over    bool
}

// end is the last line.
type end[P Position] struct {
	Complete bool `json:"complete"`
	Rows     int  `json:"rows"`
	Last     P    `json:"last"` // the start of the file if it has no rows
}

func newFile[P Position](s source[P], format Format, after P) *File[P] {
	return &File[P]{source: s, format: format, end: end[P]{Complete: true, Last: after}}
}

// Next returns the next part of the file, and io.EOF after the last. It returns
// the faults of the log.
func (f *File[P]) Next(ctx context.Context) (part []byte, err error) {
	if f.over {
		return nil, io.EOF
	}
	first := !f.begun
	if first {
		if f.through, err = f.source.newest(ctx); err != nil {
			return nil, err
		}
		f.begun = true
	}
	rows, err := f.source.read(ctx, f.end.Last, f.through)
	if err != nil {
		return nil, err
	}
	f.end.Rows += len(rows)
	if len(rows) > 0 {
		f.end.Last, f.at = rows[len(rows)-1].id, rows[len(rows)-1].at
	}
	f.over = len(rows) < PageSize
	if f.format == CSV {
		return f.asCSV(rows, first), nil
	}
	return f.asJSON(rows)
}

// Progress returns the number of rows in the parts so far and the time of the last,
// which is zero without rows.
func (f *File[P]) Progress() (rows int, at time.Time) { return f.end.Rows, f.at }

// asCSV encodes rows. Cells that a spreadsheet would interpret as a formula start
// with an apostrophe.
func (f *File[P]) asCSV(rows []row[P], first bool) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	if first {
		_ = w.Write(f.source.columns) // writing to a buffer never fails
	}
	for _, r := range rows {
		for i, cell := range r.cells {
			r.cells[i] = EscapeFormula(cell)
		}
		_ = w.Write(r.cells)
	}
	if f.over {
		last := make([]string, len(f.source.columns)) // every line has the same number of cells
		last[0], last[1], last[2] = "# complete", strconv.Itoa(f.end.Rows), fmt.Sprint(f.end.Last)
		_ = w.Write(last)
	}
	w.Flush()
	return b.Bytes()
}

func (f *File[P]) asJSON(rows []row[P]) ([]byte, error) {
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	for _, r := range rows {
		if err := lines.Encode(r.record); err != nil {
			return nil, fault.Internal(err)
		}
	}
	if f.over {
		if err := lines.Encode(f.end); err != nil {
			return nil, fault.Internal(err)
		}
	}
	return b.Bytes(), nil
}

// EscapeFormula escapes a cell of a CSV file that a spreadsheet would interpret as
// a formula (OWASP, "CSV Injection").
func EscapeFormula(cell string) string {
	if cell != "" && strings.IndexByte("=+-@\t\r\n", cell[0]) >= 0 || strings.HasPrefix(cell, "＝") || strings.HasPrefix(cell, "＋") || strings.HasPrefix(cell, "－") || strings.HasPrefix(cell, "＠") {
		return "'" + cell
	}
	return cell
}
