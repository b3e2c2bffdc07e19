package api

import (
	"github.com/gofiber/fiber/v2"

	"mcpgateway/services/activity/export"
	"mcpgateway/services/fault"
)

// fileFormat returns the format of the requested file, or "" for a page of JSON.
// The parameter format overrides the header Accept. It returns INVALID_PARAMETER
// for another format, and for after without a file.
func fileFormat(c *fiber.Ctx) (export.Format, error) {
	switch name := c.Query("format"); name {
	case "json":
	case "":
		for _, f := range []export.Format{export.CSV, export.JSONL} {
			if offered := mediaTypes[f]; c.Accepts(fiber.MIMEApplicationJSON, offered) == offered {
				return f, nil
			}
		}
	case string(export.CSV), string(export.JSONL):
		return export.Format(name), nil
	default:
		return "", fault.Invalid("format must be json, csv or jsonl.")
	}
	if c.Query("after") != "" {
		return "", fault.Invalid("after requires format=csv or format=jsonl. Pages use cursor.")
	}
	return "", nil
}

// mediaTypes are the values of Accept that request a file.
var mediaTypes = map[export.Format]string{export.CSV: "text/csv", export.JSONL: "application/x-ndjson"}

// withoutPages returns CONFLICTING_PARAMETERS for parameters of pages.
func withoutPages(c *fiber.Ctx) error {
	if c.Query("cursor") == "" && c.Query("limit") == "" {
		return nil
	}
	return fault.New(fault.KindInvalid, fault.CodeConflictingParameters, "Files have no pages. Remove limit and cursor, and use since, until and after.")
}
