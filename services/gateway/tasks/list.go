package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// listPurpose distinguishes cursors of tasks/list from other sealed texts.
const listPurpose = "tasks/list cursor"

// listCursor is the content of a cursor.
type listCursor struct {
	At int64  `json:"a"` // Unix milliseconds
	ID string `json:"i"`
}

// List returns the raw result of tasks/list for an owner: the last seen state of
// the tasks whose tool visible accepts. It returns INVALID_CURSOR for a cursor of
// another list, and INTERNAL if the database fails.
func (t *Tasks) List(ctx context.Context, owner Owner, params *rawjson.Object, visible func(row *models.UpstreamTask) bool) ([]byte, error) {
	var after Position
	if raw := params.Get("cursor"); raw != nil && rawjson.Kind(raw) != 'n' {
		text, _ := rawjson.String(raw)
		plain, err := t.Handles.OpenHandle(listPurpose, owner.text(), text)
		var c listCursor
		if err != nil || json.Unmarshal(plain, &c) != nil {
			f := fault.New(fault.KindInvalid, fault.CodeInvalidCursor, "The cursor is invalid. List again without the cursor.")
			f.Restart = true
			return nil, f
		}
		after = Position{At: time.UnixMilli(c.At).UTC(), ID: c.ID}
	}
	rows, err := t.Rows.List(ctx, owner, after, listPage+1)
	if err != nil {
		return nil, err
	}
	more := len(rows) > listPage
	rows = rows[:min(len(rows), listPage)]
	items := [][]byte{}
	for i := range rows {
		if isCore(rows[i].State) && visible(&rows[i]) {
			items = append(items, []byte(rows[i].State))
		}
	}
	result := append(append([]byte(`{"tasks":[`), bytes.Join(items, []byte{','})...), ']')
	if more {
		last := rows[len(rows)-1]
		plain, err := json.Marshal(listCursor{At: last.CreatedAt.UnixMilli(), ID: last.ID})
		if err != nil {
			return nil, fault.Internal(err)
		}
		text, err := t.Handles.SealHandle(listPurpose, owner.text(), plain)
		if err != nil {
			return nil, err
		}
		result = append(append(result, `,"nextCursor":`...), rawjson.Quote(text)...)
	}
	return append(result, '}'), nil
}

// isCore reports whether a stored state has the form of MCP 2025-11-25, whose
// tasks alone can be listed.
func isCore(state string) bool { return object([]byte(state)).Get("ttlMs") == nil }
