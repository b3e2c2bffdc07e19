package export

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// AuditRecord is the exported form of a row of the audit log.
type AuditRecord struct {
	Seq       int64             `json:"seq"`
	At        time.Time         `json:"at"`
	ActorKind string            `json:"actorKind"`
	ActorID   string            `json:"actorId"`
	ActorName string            `json:"actorName"`
	IP        string            `json:"ip"`
	RequestID string            `json:"requestId"`
	Action    string            `json:"action"`
	Object    string            `json:"object"`
	ObjectID  string            `json:"objectId"`
	Project   string            `json:"projectSlug"`
	Detail    map[string]string `json:"detail"`
}

func newAuditRecord(r models.AuditEntry) AuditRecord {
	detail := map[string]string(r.Detail)
	if detail == nil {
		detail = map[string]string{}
	}
	return AuditRecord{r.Seq, r.At.UTC(), r.ActorKind, r.ActorID, r.ActorName, r.IP, r.RequestID, r.Action, r.Object, r.ObjectID, r.Project, detail}
}

// auditColumns are the columns, named like the record's fields. detail is JSON.
var auditColumns = []string{"seq", "at", "actorKind", "actorId", "actorName", "ip", "requestId", "action", "object", "objectId", "projectSlug", "detail"}

func (r AuditRecord) cells() ([]string, error) {
	detail, err := json.Marshal(r.Detail)
	if err != nil {
		return nil, fault.Internal(err)
	}
	return []string{
		strconv.FormatInt(r.Seq, 10), r.At.Format(time.RFC3339Nano), r.ActorKind, r.ActorID, r.ActorName, r.IP, r.RequestID, r.Action,
		r.Object, r.ObjectID, r.Project, string(detail),
	}, nil
}

// AuditLog reads the audit log. Implemented by activity.Audit.
type AuditLog interface {
	List(ctx context.Context, f activity.Filter, before int64, limit int) (rows []models.AuditEntry, next int64, err error)
	Between(ctx context.Context, f activity.Filter, after, through int64, limit int) ([]models.AuditEntry, error)
}

// ParseAuditPosition returns the number of a row for Audit, or INVALID_PARAMETER.
// The empty text is the start of the log.
func ParseAuditPosition(after string) (int64, error) {
	if after == "" {
		return 0, nil
	}
	seq, err := strconv.ParseInt(after, 10, 64)
	if err != nil || seq < 0 {
		return 0, fault.Invalid("after must be the number of a row, as in the last line of an export.")
	}
	return seq, nil
}

// Audit returns the matching rows after the row with a number as a file; 0 starts
// with the oldest.
func Audit(log AuditLog, f activity.Filter, format Format, after int64) *File[int64] {
	return newFile(source[int64]{
		columns: auditColumns,
		newest: func(ctx context.Context) (int64, error) {
			rows, _, err := log.List(ctx, f, 0, 1)
			if err != nil || len(rows) == 0 {
				return 0, err
			}
			return rows[0].Seq, nil
		},
		read: func(ctx context.Context, after, through int64) ([]row[int64], error) {
			entries, err := log.Between(ctx, f, after, through, PageSize)
			if err != nil {
				return nil, err
			}
			rows := make([]row[int64], len(entries))
			for i, entry := range entries {
				record := newAuditRecord(entry)
				cells, err := record.cells()
				if err != nil {
					return nil, err
				}
				rows[i] = row[int64]{id: entry.Seq, at: record.At, cells: cells, record: record}
			}
			return rows, nil
		},
	}, format, after)
}
