package main

import (
	"fmt"
	"io"
	"time"
)

// The intervals of progress lines: of a terminal, and of files and pipes.
const (
	progressEvery = time.Second
	progressRows  = 100_000
)

// exportProgress writes the progress of an export to standard error. A terminal
// has one line that is rewritten. It stays silent until the end if the rows go to
// a terminal too.
type exportProgress struct {
	w        io.Writer
	terminal bool
	silent   bool
	now      func() time.Time
	last     time.Time // of the latest line
	next     int       // number of rows of the next line
	shown    bool      // the terminal has a line to rewrite
}

func newExportProgress(std streams, now func() time.Time) *exportProgress {
	return &exportProgress{w: std.err, terminal: isTerminal(std.err), silent: isTerminal(std.out), now: now, last: now(), next: progressRows}
}

// report writes a line if one is due. at is the time of the last row. A line that
// can't be written doesn't stop the export.
func (p *exportProgress) report(rows int, at time.Time) {
	switch {
	case p.silent:
	case p.terminal:
		if now := p.now(); now.Sub(p.last) >= progressEvery {
			p.last, p.shown = now, true
			_, _ = fmt.Fprintf(p.w, "\r\x1b[KExported %s", rowsUpTo(rows, at))
		}
	case rows >= p.next:
		p.next = rows - rows%progressRows + progressRows
		_, _ = fmt.Fprintf(p.w, "Exported %s\n", rowsUpTo(rows, at))
	}
}

// stop ends the line of a terminal, for an error message.
func (p *exportProgress) stop() {
	if p.shown {
		_, _ = fmt.Fprintln(p.w)
	}
}

// finish writes the last line.
func (p *exportProgress) finish(rows int, at time.Time) {
	erase := ""
	if p.shown {
		erase = "\r\x1b[K"
	}
	_, _ = fmt.Fprintf(p.w, "%sExport complete: %s\n", erase, rowsUpTo(rows, at))
}

func rowsUpTo(rows int, at time.Time) string {
	switch rows {
	case 0:
		return "0 rows"
	case 1:
		return "1 row of " + at.Format(time.RFC3339)
	default:
		return fmt.Sprintf("%d rows, up to %s", rows, at.Format(time.RFC3339))
	}
}
