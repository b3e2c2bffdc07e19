// Package outbox stores the events of the gateway until every destination has
// received them. Writers add events in their own transaction; the packages below
// it deliver them.
package outbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"mcpgateway/models"
)

// Limits of an event.
const (
	maxName = 500 // characters of a kind and of a slug

	// MaxBody is the maximum size of an event's data, in bytes of JSON. It exceeds
	// the largest audit entry.
	MaxBody = 512 << 10
)

// Event is something that happened. Data is what a destination receives as "data"
// and must encode as a JSON object without secrets.
type Event struct {
	Kind    string // "key.created", for instance
	Project string // its slug, or empty
	Data    any
}

// row returns the stored form of the event.
func (e Event) row(at time.Time) (models.OutboxEvent, error) {
	body, err := json.Marshal(e.Data)
	if err != nil {
		return models.OutboxEvent{}, fmt.Errorf("encode event %s: %w", e.Kind, err)
	}
	switch {
	case e.Kind == "" || utf8.RuneCountInString(e.Kind) > maxName || utf8.RuneCountInString(e.Project) > maxName:
		return models.OutboxEvent{}, fmt.Errorf("event %q of project %q: kind and project need 1 to %d characters", e.Kind, e.Project, maxName)
	case len(body) > MaxBody:
		return models.OutboxEvent{}, fmt.Errorf("event %s has %d bytes; the maximum is %d", e.Kind, len(body), MaxBody)
	}
	return models.OutboxEvent{ID: newID(), Kind: e.Kind, Project: e.Project, At: at, Body: string(body)}, nil
}

// auditData is the data of an audit entry's event, which has the fields of
// GET /api/audit.
type auditData struct {
	Seq       int64             `json:"seq"`
	At        time.Time         `json:"at"`
	Actor     actorData         `json:"actor"`
	RequestID string            `json:"requestId"`
	Action    string            `json:"action"`
	Object    string            `json:"object"`
	ObjectID  string            `json:"objectId"`
	Project   string            `json:"projectSlug"`
	Detail    map[string]string `json:"detail"`
}

type actorData struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Name string `json:"name"`
	IP   string `json:"ip"`
}

// auditRow returns the event of an audit entry.
func auditRow(row *models.AuditEntry) (models.OutboxEvent, error) {
	data := auditData{
		Seq: row.Seq, At: row.At, Actor: actorData{row.ActorKind, row.ActorID, row.ActorName, row.IP}, RequestID: row.RequestID,
		Action: row.Action, Object: row.Object, ObjectID: row.ObjectID, Project: row.Project, Detail: row.Detail,
	}
	if data.Detail == nil {
		data.Detail = map[string]string{}
	}
	event, err := Event{Kind: row.Action, Project: row.Project, Data: data}.row(row.At)
	event.Audit = true
	return event, err
}

// newID returns the ID of a new event. It contains no period, because signatures
// of webhooks separate their parts with one.
func newID() string { return strings.ToLower(uuid.Must(uuid.NewV7()).String()) }
