// Package sources raises the events about servers, connections, tools, keys and
// limits. All replicas together raise one per change.
package sources

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/access/quotas"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/outbox"
)

// Sources raise events.
type Sources struct {
	db     *gorm.DB
	events *outbox.Events
	now    func() time.Time
}

// New returns the sources of events.
func New(db *gorm.DB, events *outbox.Events, now func() time.Time) *Sources {
	return &Sources{db, events, now}
}

// The initial states of subjects. They raise no event.
const (
	stateOK   = "ok"
	stateUp   = string(models.ServerUp)
	stateNone = ""
)

// server is the data of events about a server.
type server struct {
	Message  string `json:"message"`
	ServerID string `json:"serverId"`
	Alias    string `json:"alias"`
	PersonID string `json:"personId,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Tool     string `json:"tool,omitempty"`
}

// named is a server with the slug of its project.
type named struct {
	ID, Alias, Slug string
}

// find returns the names of a server; ok is false if it was deleted.
func find(tx *gorm.DB, id string) (n named, ok bool, err error) {
	var rows []named
	err = tx.Session(&gorm.Session{NewDB: true}).Model(&models.Server{}).Select("servers.id, servers.alias, projects.slug").
		Joins("JOIN projects ON projects.id = servers.project_id").Where("servers.id = ?", id).Scan(&rows).Error
	if err != nil || len(rows) == 0 {
		return named{ID: id}, false, err
	}
	return rows[0], true, nil
}

// Server raises server.down or server.up if the observed state of a server is
// another one than the last. A server without credentials has neither.
func (s *Sources) Server(ctx context.Context, state models.ServerState) error {
	if state.State == models.ServerUnset {
		return nil
	}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		n, ok, err := find(tx, state.ServerID)
		if err != nil || !ok {
			return err
		}
		event := outbox.Event{Kind: outbox.ServerUp, Project: n.Slug, Data: server{Message: n.Alias + " responds again", ServerID: n.ID, Alias: n.Alias}}
		if state.State == models.ServerDown {
			event = outbox.Event{Kind: outbox.ServerDown, Project: n.Slug, Data: server{Message: n.Alias + " is down", ServerID: n.ID, Alias: n.Alias, Reason: state.Cause}}
		}
		_, err = s.events.Change(tx, "server:"+n.ID, stateUp, string(state.State), event)
		return err
	})
	if err != nil {
		return fault.From(err)
	}
	return nil
}

// Connection raises connection.reconnect_needed or connection.restored in the
// transaction that stores a connection.
func (s *Sources) Connection(tx *gorm.DB, id accounts.ID, state oauthclient.State, reason string) error {
	next := stateOK
	switch {
	case state.NeedsAuthorization():
		next = "needed"
	case state != oauthclient.Connected:
		return nil // it is retried
	}
	n, ok, err := find(tx, id.ServerID)
	if err != nil || !ok {
		return err
	}
	data := server{Message: "the connection to " + n.Alias + " works again", ServerID: n.ID, Alias: n.Alias, PersonID: id.UserID}
	event := outbox.Event{Kind: outbox.ConnectionRestored, Project: n.Slug}
	if next != stateOK {
		event.Kind, data.Message, data.Reason = outbox.ReconnectNeeded, "a person must reconnect "+n.Alias, reason
		if reason == "" {
			data.Reason = string(state)
		}
	}
	event.Data = data
	_, err = s.events.Change(tx, "connection:"+id.ServerID+"/"+id.UserID, stateOK, next, event)
	return err
}

// Definitions raises tool.definition_changed for tools in the transaction of the
// sync that stores their new definitions.
func (s *Sources) Definitions(tx *gorm.DB, serverID string, tools []string) error {
	if len(tools) == 0 {
		return nil
	}
	n, ok, err := find(tx, serverID)
	if err != nil || !ok {
		return err
	}
	events := make([]outbox.Event, len(tools))
	for i, tool := range tools {
		events[i] = outbox.Event{Kind: outbox.DefinitionChanged, Project: n.Slug, Data: server{
			Message: n.Alias + " changed the definition of " + tool, ServerID: n.ID, Alias: n.Alias, Tool: tool,
		}}
	}
	return s.events.Add(tx, events...)
}

// Quota raises quota.exceeded once per day for a subject of a daily limit.
func (s *Sources) Quota(ctx context.Context, e quotas.Exceeded) error {
	var slugs []string
	if err := s.db.WithContext(ctx).Model(&models.Project{}).Where("id = ?", e.ProjectID).Pluck("slug", &slugs).Error; err != nil {
		return fault.Internal(err)
	}
	if len(slugs) == 0 {
		return nil // deleted
	}
	data := map[string]any{
		"message": fmt.Sprintf("the daily limit of %d calls per %s is used up", e.Limit.PerDay, e.Limit.Per),
		"per":     e.Limit.Per, "match": e.Limit.Match, "perDay": e.Limit.PerDay, "subject": e.ID, "day": e.Day,
	}
	_, err := s.events.ChangeNow(ctx, "quota:"+e.ProjectID+":"+e.Subject, stateNone, e.Day, outbox.Event{Kind: outbox.QuotaExceeded, Project: slugs[0], Data: data})
	return err
}
