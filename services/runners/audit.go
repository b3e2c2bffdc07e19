package runners

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mcpgateway/services/runners/wire"
)

// Audit records entries of the audit log with the gateway itself as the actor.
type Audit func(ctx context.Context, e Event) error

// Event is an entry of the audit log.
type Event struct {
	Action string // "runner.started", "runner.reloaded" or "runner.refused"
	Runner string // its ID, or empty
	Peer   Peer
	Detail map[string]string
}

// recordList records the first list of a connection, and one with other files or
// commands.
func (r *Runners) recordList(ctx context.Context, c *connection, before, after wire.List) {
	e := Event{Action: "runner.started", Runner: after.Runner, Peer: c.peer, Detail: filesOf(after)}
	e.Detail["servers"] = strings.Join(namesOf(after), ", ")
	if c.ids != nil {
		e.Action, e.Detail = "runner.reloaded", reload(before, after)
	}
	r.record(ctx, e)
}

func (r *Runners) record(ctx context.Context, e Event) {
	if r.Audit == nil {
		return
	}
	if err := r.Audit(ctx, e); err != nil && ctx.Err() == nil {
		r.Log.Error("audit entry not written", "action", e.Action, "error", err)
	}
}

// refuse records that a runner is refused, and returns err.
func (r *Runners) refuse(ctx context.Context, p Peer, err error) error {
	if said := refusal(""); errors.As(err, &said) {
		r.Log.Warn("runner refused", "connector_id", p.ConnectorID, "reason", said.Error())
		r.record(context.WithoutCancel(ctx), Event{Action: "runner.refused", Peer: p, Detail: map[string]string{"reason": said.Error()}})
	}
	return err
}

// filesOf returns the hashes of a list's files by path.
func filesOf(l wire.List) map[string]string {
	detail := map[string]string{}
	for _, f := range l.Files {
		detail[f.Path] = f.SHA256
	}
	return detail
}

func namesOf(l wire.List) []string {
	names := make([]string, len(l.Servers))
	for i, s := range l.Servers {
		names[i] = s.Name
	}
	return names
}

// reload returns the details of a change: both hashes of each changed file, and
// the names of the programs that were added, changed and removed.
func reload(before, after wire.List) map[string]string {
	detail, old := filesOf(after), filesOf(before)
	for path, hash := range detail {
		if was, known := old[path]; known && was != hash {
			detail[path] = was + " → " + hash
		}
	}
	hashes := map[string]string{}
	for _, s := range before.Servers {
		hashes[s.Name] = s.Hash
	}
	var added, changed []string
	for _, s := range after.Servers {
		switch was, known := hashes[s.Name]; {
		case !known:
			added = append(added, s.Name)
		case was != s.Hash:
			changed = append(changed, s.Name+" ("+short(was)+" → "+short(s.Hash)+")")
		}
		delete(hashes, s.Name)
	}
	var removed []string
	for name := range hashes {
		removed = append(removed, name)
	}
	slices.Sort(removed)
	for key, names := range map[string][]string{"added": added, "changed": changed, "removed": removed} {
		if len(names) > 0 {
			detail[key] = strings.Join(names, ", ")
		}
	}
	return detail
}

// short returns the start of a hash for display.
func short(hash string) string { return hash[:min(len(hash), 12)] }
