// Package alerts watches the gateway by built-in rules and stores which problems
// fire. One replica evaluates the rules; all have the firing alerts in memory.
package alerts

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"mcpgateway/models"
)

// The built-in rules.
const (
	ServerDown       = "server_down"
	ConnectionNeeded = "connection_needed"
	FailingCalls     = "failing_calls"
	SlowCalls        = "slow_calls"
	KeyExpiring      = "key_expiring"
	DiskLow          = "disk_low"
	OutboxStuck      = "outbox_stuck"
)

// Window is the period of calls that FailingCalls and SlowCalls count.
const Window = 10 * time.Minute

// Threshold is a number that an administrator can change.
type Threshold struct {
	Name              string
	Label             string // with the unit
	Default, Min, Max int
}

// Rule is a built-in rule with its settings.
type Rule struct {
	ID         string
	Title      string
	Meaning    string
	Thresholds []Threshold
	Enabled    bool
	Values     map[string]int // by the name of the threshold
}

// Of returns the value of a threshold.
func (r *Rule) Of(name string) int { return r.Values[name] }

// Builtin returns the rules with their default settings.
func Builtin() []Rule {
	calls := Threshold{"calls", "Minimum calls", 20, 1, 100_000}
	rules := []Rule{
		{ID: ServerDown, Title: "Server down", Meaning: "An upstream server doesn't respond.", Thresholds: []Threshold{{"minutes", "Down for (minutes)", 2, 1, 1440}}},
		{ID: ConnectionNeeded, Title: "Connection needs authorization", Meaning: "The gateway's account at a server must be connected or reconnected."},
		{ID: FailingCalls, Title: "Failing calls", Meaning: "Too many calls of a project fail within 10 minutes.", Thresholds: []Threshold{{"percent", "Failed calls above (%)", 10, 0, 99}, calls}},
		{ID: SlowCalls, Title: "Slow calls", Meaning: "The 95th percentile of a project's latency is too high within 10 minutes.", Thresholds: []Threshold{{"milliseconds", "95th percentile above (ms)", 10_000, 1, 600_000}, calls}},
		{ID: KeyExpiring, Title: "Key expires soon", Meaning: "A key reaches the end of its lifetime. Keys with a shorter lifetime and replaced keys don't count.", Thresholds: []Threshold{{"days", "Days before it expires", 7, 1, 90}}},
		{ID: DiskLow, Title: "Disk almost full", Meaning: "The file system of the SQLite database has little free space.", Thresholds: []Threshold{{"mebibytes", "Free space below (MiB)", 500, 10, 1_000_000}}},
		{ID: OutboxStuck, Title: "Events not delivered", Meaning: "An event waits too long for a destination.", Thresholds: []Threshold{{"minutes", "Waiting for (minutes)", 15, 1, 1440}}},
	}
	for i := range rules {
		rules[i].Enabled, rules[i].Values = true, map[string]int{}
		for _, t := range rules[i].Thresholds {
			rules[i].Values[t.Name] = t.Default
		}
	}
	return rules
}

// builtin returns the rule with the ID.
func builtin(id string) (Rule, bool) {
	rules := Builtin()
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}

// Title returns the name of a rule, also of one that a newer release added.
func Title(id string) string {
	if rule, ok := builtin(id); ok {
		return rule.Title
	}
	return id
}

// apply replaces the settings of a rule by stored ones. Values outside of the
// limits of this release keep their default.
func (r *Rule) apply(row models.AlertRule) error {
	stored := map[string]int{}
	if err := json.Unmarshal([]byte(row.Thresholds), &stored); err != nil {
		return fmt.Errorf("thresholds of rule %s: %w", row.ID, err)
	}
	r.Enabled = row.Enabled
	for _, t := range r.Thresholds {
		if v, ok := stored[t.Name]; ok && v >= t.Min && v <= t.Max {
			r.Values[t.Name] = v
		}
	}
	return nil
}

// hold returns how long a problem must last before its alert fires.
func (r *Rule) hold() time.Duration {
	if r.ID == ServerDown {
		return time.Duration(r.Of("minutes")) * time.Minute
	}
	return 0
}
