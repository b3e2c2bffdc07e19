package inventory

import (
	"time"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/toolset"
)

// SyncResult is the changes of one sync. The lists contain the upstream's own
// tool names, in its order.
type SyncResult struct {
	Server   models.Server
	Added    []string
	Changed  []string
	Removed  []string
	Total    int
	Duration time.Duration
	Warnings []string

	began   time.Time
	touched bool // something visible to clients or pages changed
	shared  bool // another replica ran the sync; only Server is set
}

// change is the change of one tool.
type change byte

const (
	unchanged change = iota
	added
	changed
	removed
)

// since returns the result combined with the changes of an earlier sync, so
// that a caller that waited for both misses none.
func (r SyncResult) since(earlier SyncResult) SyncResult {
	before := map[string]change{}
	for what, names := range earlier.changes() {
		for _, name := range names {
			before[name] = what
		}
	}
	sum := map[change][]string{}
	for _, what := range []change{added, changed, removed} {
		for _, name := range r.changes()[what] {
			both := what.since(before[name])
			sum[both] = append(sum[both], name)
			delete(before, name)
		}
	}
	for _, what := range []change{added, changed, removed} {
		for _, name := range earlier.changes()[what] {
			if before[name] == what {
				sum[what] = append(sum[what], name)
			}
		}
	}
	r.Added, r.Changed, r.Removed = sum[added], sum[changed], sum[removed]
	r.touched = r.touched || earlier.touched
	return r
}

// since returns the change combined with the one before it.
func (c change) since(before change) change {
	switch {
	case before == added && c == removed:
		return unchanged
	case before == added:
		return added
	case before == removed:
		return changed
	}
	return c
}

func (r SyncResult) changes() map[change][]string {
	return map[change][]string{added: r.Added, changed: r.Changed, removed: r.Removed}
}

// overrideWarnings returns the warnings about the overrides of a server with
// these listed tools.
func overrideWarnings(server models.Server, tools [][]byte) []string {
	if len(server.ToolOverrides) == 0 {
		return nil
	}
	rows := make([]models.Tool, 0, len(tools))
	for _, raw := range tools {
		if o, err := rawjson.ParseObject(raw, rawjson.Lenient); err == nil {
			name, _ := o.String("name")
			rows = append(rows, models.Tool{Name: name, Definition: string(raw)})
		}
	}
	var warnings []string
	for _, w := range toolset.OverrideWarnings(server, rows) {
		warnings = append(warnings, w.Code+": "+w.Message)
	}
	return warnings
}
