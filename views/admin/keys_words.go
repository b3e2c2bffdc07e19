package admin

import (
	"time"

	"mcpgateway/views/ui"
)

// soon is the remaining lifetime below which a key is marked.
const soon = 7 * 24 * time.Hour

func (k KeyRow) called() string {
	if k.Name == "" {
		return k.Prefix + "…"
	}
	return ui.Clean(k.Name)
}

// usable reports whether the key is neither revoked nor expired.
func (k KeyRow) usable(now time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || k.ExpiresAt.After(now))
}

func (p KeysProps) columns() []ui.Column {
	columns := []ui.Column{{Label: "Key"}, {Label: "Created"}, {Label: "Last used"}, {Label: "State"}}
	if p.Admin() {
		columns = append(columns, ui.Column{Label: "Actions", Hidden: true})
	}
	return columns
}

func (p KeyNewProps) secretLabel() string {
	if p.Name == "" {
		return "Key"
	}
	return "Key " + ui.Clean(p.Name)
}

func expiryOptions() []ui.Option {
	return []ui.Option{{Value: "30", Label: "In 30 days"}, {Value: "90", Label: "In 90 days"}, {Value: "365", Label: "In 1 year"}, {Value: "never", Label: "Never"}}
}

func graceOptions() []ui.Option {
	return []ui.Option{{Value: "0s", Label: "Stop working now"}, {Value: "1h", Label: "Keep for 1 hour"}, {Value: "24h", Label: "Keep for 24 hours"}, {Value: "168h", Label: "Keep for 7 days"}}
}

// keysUnused describes the access to a project whose authMode is not api_key.
func keysUnused(mode string) string {
	if mode == "none" {
		return "Anyone can use it without one."
	}
	return "Clients sign in instead."
}

// within returns the time until an event, rounded up to its largest unit.
func within(d time.Duration) string {
	switch {
	case d < time.Hour:
		return "in " + ui.Plural(max(ceil(d, time.Minute), 1), "minute", "minutes")
	case d < 48*time.Hour:
		return "in " + ui.Plural(ceil(d, time.Hour), "hour", "hours")
	default:
		return "in " + ui.Plural(ceil(d, 24*time.Hour), "day", "days")
	}
}

// ceil returns the number of units in d, rounded up.
func ceil(d, unit time.Duration) int { return int((d + unit - 1) / unit) }
