package export

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

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

// callColumns are the columns, named like the record's fields.
var callColumns = []string{"at", "projectSlug", "principal", "tool", "server", "durationMs", "requestBytes", "responseBytes", "outcome", "code", "requestId", "id"}

func (r CallRecord) cells() []string {
	return []string{
		r.At.Format(time.RFC3339Nano), r.Project, r.Principal, r.Tool, r.Server, strconv.FormatFloat(r.DurationMS, 'f', 3, 64),
		strconv.FormatInt(r.RequestBytes, 10), strconv.FormatInt(r.ResponseBytes, 10), string(r.Outcome), r.Code, r.RequestID, r.ID,
	}
}

// CallLog reads calls. Implemented by activity.Calls.
type CallLog interface {
	List(ctx context.Context, f activity.CallFilter, before string, limit int) (calls []models.Call, next string, err error)
	Between(ctx context.Context, f activity.CallFilter, after, through string, limit int) ([]models.Call, error)
}

// ParseCallPosition returns the id of a call for Calls, or INVALID_PARAMETER. The
// empty text is the start of the log.
func ParseCallPosition(after string) (string, error) {
	if after == "" {
		return "", nil
	}
	id, err := uuid.Parse(after)
	if err != nil {
		return "", fault.Invalid("after must be the ID of a call, as in the last line of an export.")
	}
	return id.String(), nil
}

// Calls returns the matching calls after the call with an id as a file; "" starts
// with the oldest. slug returns a project's slug.
func Calls(log CallLog, f activity.CallFilter, slug func(projectID string) string, format Format, after string) *File[string] {
	return newFile(source[string]{
		columns: callColumns,
		newest: func(ctx context.Context) (string, error) {
			calls, _, err := log.List(ctx, f, "", 1)
			if err != nil || len(calls) == 0 {
				return "", err
			}
			return calls[0].ID, nil
		},
		read: func(ctx context.Context, after, through string) ([]row[string], error) {
			calls, err := log.Between(ctx, f, after, through, PageSize)
			rows := make([]row[string], len(calls))
			for i, call := range calls {
				record := NewCallRecord(call, slug(call.ProjectID))
				rows[i] = row[string]{id: call.ID, at: record.At, cells: record.cells(), record: record}
			}
			return rows, err
		},
	}, format, after)
}
