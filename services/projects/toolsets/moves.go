package toolsets

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
)

// WarnChanged is the code of the warning about a toolset that a sync changed.
const WarnChanged = "TOOLSET_CHANGED"

// warnFor is how long a change of members is shown. Saving the toolset ends it.
const warnFor = 7 * 24 * time.Hour

const (
	actionMoved  = "toolset.members_changed"
	maxMoveNames = 10 // in an audit entry; the numbers are complete
)

// Move is a change of a toolset's members by a sync.
type Move struct {
	Toolset *models.Toolset
	Server  string // alias
	In, Out []string
}

// RecordMoves records toolset.members_changed for each move.
func (s *Store) RecordMoves(ctx context.Context, projectSlug string, moves []Move) error {
	entries := make([]activity.Entry, len(moves))
	for i, m := range moves {
		entries[i] = activity.Entry{
			Action: actionMoved, Object: m.Toolset.Slug, ObjectID: m.Toolset.ID, Project: projectSlug,
			Detail: map[string]string{
				"server": m.Server, "joined": strconv.Itoa(len(m.In)), "left": strconv.Itoa(len(m.Out)),
				"joinedTools": names(m.In), "leftTools": names(m.Out),
			},
		}
	}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return s.audit.RecordAll(tx, entries) })
	if err != nil {
		return fault.From(err)
	}
	return nil
}

// names returns the first of the tools.
func names(tools []string) string {
	text := strings.Join(tools[:min(len(tools), maxMoveNames)], ", ")
	if more := len(tools) - maxMoveNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Moved is the last change of a toolset's members by a sync.
type Moved struct {
	At      time.Time
	Server  string // alias
	In, Out int
	Joined  string // the first of the tools
	Left    string // the first of the tools
}

// Warning returns the warning about the change of a toolset.
func (m Moved) Warning(slug string) fault.Warning {
	text := fmt.Sprintf("A sync of server %s changed the tools of toolset %s: %d joined, %d left.", m.Server, slug, m.In, m.Out)
	return fault.Warning{Code: WarnChanged, Message: text + " Save the toolset to accept it."}
}

// Moved returns the last changes of members of the toolsets that are recent and
// newer than the toolset, by toolset id.
func (s *Store) Moved(ctx context.Context, projectSlug string, rows []models.Toolset) (map[string]Moved, error) {
	return movedOf(s.db.WithContext(ctx), projectSlug, rows, s.now())
}

func movedOf(tx *gorm.DB, projectSlug string, rows []models.Toolset, now time.Time) (map[string]Moved, error) {
	moved := map[string]Moved{}
	if len(rows) == 0 {
		return moved, nil
	}
	ids := make([]string, len(rows))
	updated := map[string]time.Time{}
	for i, row := range rows {
		ids[i], updated[row.ID] = row.ID, row.UpdatedAt
	}
	var entries []models.AuditEntry
	err := tx.Where("seq IN (SELECT MAX(seq) FROM audit_entries WHERE action = ? AND project = ? AND object_id IN ? AND at > ? GROUP BY object_id)",
		actionMoved, projectSlug, ids, now.Add(-warnFor)).Find(&entries).Error
	if err != nil {
		return nil, fault.Internal(err)
	}
	for _, e := range entries {
		if e.At.After(updated[e.ObjectID]) {
			m := Moved{At: e.At, Server: e.Detail["server"], Joined: e.Detail["joinedTools"], Left: e.Detail["leftTools"]}
			m.In, _ = strconv.Atoi(e.Detail["joined"])
			m.Out, _ = strconv.Atoi(e.Detail["left"])
			moved[e.ObjectID] = m
		}
	}
	return moved, nil
}

// Warnings returns TOOLSET_CHANGED for the toolsets of a project that a sync
// changed.
func (s *Store) Warnings(ctx context.Context, project *models.Project) ([]fault.Warning, error) {
	rows, err := s.List(ctx, project.ID)
	if err != nil {
		return nil, err
	}
	moved, err := s.Moved(ctx, project.Slug, rows)
	if err != nil {
		return nil, err
	}
	var warnings []fault.Warning
	for _, row := range rows {
		if m, ok := moved[row.ID]; ok {
			warnings = append(warnings, m.Warning(row.Slug))
		}
	}
	return warnings, nil
}
