package keys

import (
	"strconv"
	"strings"
	"time"

	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// soon is the remaining lifetime below which a key is marked.
const soon = 7 * 24 * time.Hour

// Key is one key, without its secret text.
type Key struct {
	ID         string
	Name       string // may be empty
	Prefix     string
	CreatedAt  time.Time
	ExpiresAt  *time.Time // nil: never
	LastUsedAt *time.Time // nil: not yet
	RevokedAt  *time.Time
	ReplacedBy *Other // nil: it was not rotated
	Replaces   *Other // nil: it is not a successor
	Owner      string // name of the person; empty for a key of the project
	Limited    bool   // only Toolsets
	Toolsets   []Toolset
}

// Toolset is a toolset that a key can use.
type Toolset struct{ Slug, Name string }

// Slugs returns the toolsets of a limited key, and nil for other keys.
func (k Key) Slugs() []string {
	if !k.Limited {
		return nil
	}
	slugs := make([]string, len(k.Toolsets))
	for i, t := range k.Toolsets {
		slugs[i] = t.Slug
	}
	return slugs
}

// tools names what the key can use.
func (k Key) tools() string {
	switch {
	case !k.Limited && k.Owner != "":
		return "Everything the owner can use"
	case !k.Limited:
		return "Everything"
	case len(k.Toolsets) == 0:
		return "Nothing"
	}
	names := make([]string, len(k.Toolsets))
	for i, t := range k.Toolsets {
		names[i] = ui.Clean(t.Name)
	}
	return strings.Join(names, ", ")
}

// Other is the successor of a key, or the key that it replaced.
type Other struct{ ID, Prefix string }

// Called returns the name of the key, or its first characters.
func (k Key) Called() string {
	if k.Name == "" {
		return k.Prefix + "…"
	}
	return ui.Clean(k.Name)
}

// Usable reports whether the key is neither revoked nor expired.
func (k Key) Usable(now time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || k.ExpiresAt.After(now))
}

// state returns the word for the state of a key.
func (k Key) state(now time.Time) (ui.Tone, string) {
	switch {
	case k.RevokedAt != nil && k.ReplacedBy != nil:
		return ui.Neutral, "Replaced"
	case k.RevokedAt != nil:
		return ui.Neutral, "Revoked"
	case !k.Usable(now) && k.ReplacedBy != nil:
		return ui.Neutral, "Replaced"
	case !k.Usable(now):
		return ui.Neutral, "Expired"
	case k.ReplacedBy != nil && k.ExpiresAt != nil:
		return ui.Neutral, "Replaced · works " + left(now, *k.ExpiresAt) + " more"
	case k.ExpiresAt != nil && k.ExpiresAt.Sub(now) < soon:
		return ui.Warn, "Expires " + ui.Remaining(now, *k.ExpiresAt)
	}
	return ui.OK, "Active"
}

// left returns a remaining time in short, rounded up, such as "23 h".
func left(now, until time.Time) string {
	count := func(unit time.Duration) int { return int((until.Sub(now) + unit - 1) / unit) }
	if minutes := count(time.Minute); minutes < 60 {
		return strconv.Itoa(max(minutes, 1)) + " min"
	}
	if hours := count(time.Hour); hours <= 48 {
		return strconv.Itoa(hours) + " h"
	}
	return strconv.Itoa(count(24*time.Hour)) + " d"
}

func expiryOptions() []ui.Option {
	return []ui.Option{{Value: "30", Label: "In 30 days"}, {Value: "90", Label: "In 90 days"}, {Value: "365", Label: "In 1 year"}, {Value: "never", Label: "Never"}}
}

func graceOptions() []ui.Option {
	return []ui.Option{{Value: "0s", Label: "Stop working now"}, {Value: "1h", Label: "Keep for 1 hour"}, {Value: "24h", Label: "Keep for 24 hours"}, {Value: "168h", Label: "Keep for 7 days"}}
}

// fieldErrors returns the errors of a form, in the order of its fields.
func fieldErrors(errors map[string]string) (all []ui.FieldError) {
	for _, field := range []string{"", "name", "expires", "scope"} {
		if message := errors[field]; message != "" {
			found := ui.FieldError{Message: ui.Sentence(message)}
			if field != "" {
				found.FieldID = "f-" + field
			}
			all = append(all, found)
		}
	}
	return all
}

// action returns the URL of a form of a key.
func action(slug, id, name string) string { return paths.Key(slug, id) + "/" + name }
