package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// roomRow is a row of the map of rooms.
type roomRow struct {
	room  string   // path in the module; with /* it stands for all rooms below
	parts []string // names in code font in the description
}

var codeFont = regexp.MustCompile("`([^`]+)`")

// mapOfRooms returns the rows of the table in CONTRIBUTING.md. Names after the first
// of a row are relative to its parent, such as `services/query`, `page`.
func mapOfRooms(markdown string) []roomRow {
	_, table, _ := strings.Cut(markdown, "## Map of rooms")
	table, _, _ = strings.Cut(table, "\n## ")
	var rows []roomRow
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(line, "| `") {
			continue
		}
		var parts []string
		for _, m := range codeFont.FindAllStringSubmatch(cells[2], -1) {
			parts = append(parts, m[1])
		}
		parent := ""
		for i, m := range codeFont.FindAllStringSubmatch(cells[1], -1) {
			room := m[1]
			if top, _, found := strings.Cut(room, "/"); i == 0 && found {
				parent = top + "/"
			} else if i > 0 {
				room = parent + room
			}
			rows = append(rows, roomRow{room, parts})
		}
	}
	return rows
}

// onMap reports whether a room is on the map: in a separate row, or by its name in
// the row of the nearest room above it, relative to that room or to the top one.
func onMap(rows []roomRow, room string) bool {
	for above := room; ; above = above[:strings.LastIndexByte(above, '/')] {
		for _, row := range rows {
			if row.room == room || row.room == above+"/*" {
				return true
			}
			below, inside := strings.CutPrefix(room, above+"/")
			if row.room == above && inside {
				_, inTop, _ := strings.Cut(room, "/")
				return slices.Contains(row.parts, below) || slices.Contains(row.parts, inTop)
			}
		}
		if !strings.Contains(above, "/") {
			return false
		}
	}
}

// ofTests reports whether a room is only for tests.
func ofTests(room string) bool {
	return slices.ContainsFunc(strings.Split(room, "/"), func(name string) bool { return strings.HasSuffix(name, "test") })
}

func TestMapOfRoomsIsComplete(t *testing.T) {
	root := moduleRoot(t)
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md")) //nolint:gosec // a file of this repository
	if err != nil {
		t.Fatal(err)
	}
	rows := mapOfRooms(string(text))
	checked := 0
	for _, p := range listPackages(t) {
		room := p.room()
		if len(p.GoFiles) == 0 || ofTests(room) {
			continue
		}
		checked++
		if room != "routes" && room != "services" && !onMap(rows, room) { // their rows name files
			t.Errorf("CONTRIBUTING.md: the map of rooms lacks %s", room)
		}
	}
	if checked < 100 {
		t.Errorf("%d packages checked, want at least 100", checked)
	}
	for _, row := range rows {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(strings.TrimSuffix(row.room, "/*")))); err != nil {
			t.Errorf("CONTRIBUTING.md: the map of rooms has %s, which doesn't exist", row.room)
		}
	}
}

func TestMapOfRoomsLacksAreFound(t *testing.T) {
	rows := mapOfRooms("## Map of rooms\n\n| Room | What |\n|---|---|\n| `a/b`, `c` | Things. `d`: more; `d/e`; `c/y` |\n| `f/*` | Pages |\n\n## Next\n| `a/z` | Elsewhere |\n")
	for room, want := range map[string]bool{
		"a/b": true, "a/c": true, "a/b/d": true, "a/c/d/e": true, "a/c/y": true, "f": true, "f/g": true, "f/g/h": true,
		"a": false, "b": false, "a/z": false, "a/b/e": false, "a/b/x": false, "a/b/d/x": false, "g": false,
	} {
		if got := onMap(rows, room); got != want {
			t.Errorf("onMap(%q) = %v, want %v", room, got, want)
		}
	}
}
