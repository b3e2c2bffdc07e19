package main

import (
	"context"
	"errors"
	"io"
	"time"

	"mcpgateway/services/activity"
	logfile "mcpgateway/services/activity/export"
)

// exportAudit implements `gateway audit export`: it writes the rows after a
// number, oldest first, in a format. The last line distinguishes a complete export
// from a truncated one. The progress goes to standard error.
func exportAudit(ctx context.Context, std streams, args []string) error {
	fs := flags(std, "audit export")
	after := fs.Int64("after", 0, "number of the last row of an earlier export")
	name := fs.String("format", string(logfile.JSONL), "jsonl or csv")
	if err := parse(fs, args); err != nil {
		return err
	}
	if *after < 0 {
		return usagef("--after must not be negative")
	}
	format, err := logfile.ParseFormat(*name)
	if err != nil {
		return usagef("--format must be jsonl or csv")
	}
	s, err := openExisting(ctx, std)
	if err != nil {
		return err
	}
	defer s.Close()
	file := logfile.Audit(s.Audit, activity.Filter{}, format, *after)
	progress := newExportProgress(std, time.Now)
	if err := writeAudit(ctx, std.out, file, progress); err != nil {
		progress.stop()
		return err
	}
	progress.finish(file.Progress())
	return nil
}

// writeAudit writes the parts of a file.
func writeAudit(ctx context.Context, w io.Writer, file *logfile.File[int64], progress *exportProgress) error {
	for {
		part, err := file.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
		progress.report(file.Progress())
	}
}
