package identity

import (
	"strings"
	"unicode/utf8"

	"mcpgateway/services/toolset"
)

const (
	// maxInstructions is the maximum size of the instructions in bytes. Clients
	// put them into the context of their model.
	maxInstructions = 16 << 10
	// minPart is the minimum size of the cut instructions of a server in bytes,
	// with their heading, which has at most 69.
	minPart = 128
	// cutMark is at the end of cut instructions.
	cutMark = "[…]"
)

// section is the instructions of one server with its heading.
type section struct{ heading, text string }

// end is after the text of every section.
const end = "\n"

// Instructions returns the instructions of the project, followed by those of its
// servers under their aliases, or "". They have at most maxInstructions bytes:
// the longest of the servers are cut to the same size, and the last servers of a
// project with very many are left out. Servers with tools outside of the view
// are left out, because their instructions may describe these tools.
func Instructions(project *toolset.Snapshot) string {
	var text strings.Builder
	text.WriteString(project.Project.Instructions)
	sections := sectionsOf(project)
	if text.Len() > 0 && len(sections) > 0 {
		text.WriteString("\n\n")
	}
	sections, size := fit(sections, maxInstructions-text.Len())
	for i, s := range sections {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(s.heading)
		text.WriteString(cut(s.text, size-len(s.heading)-len(end)))
		text.WriteString(end)
	}
	return text.String()
}

// sectionsOf returns the instructions of the project's servers by alias.
func sectionsOf(project *toolset.Snapshot) []section {
	var all []section
	for _, server := range project.Servers {
		if server.Config.IsOffered() && server.Inventory != nil && server.Inventory.Instructions != "" && project.ShowsAll(server) {
			all = append(all, section{heading: "## " + server.Config.Alias + "\n\n", text: server.Inventory.Instructions})
		}
	}
	return all
}

// fit returns the sections that a number of bytes has room for, and the maximum
// size of each with heading and end.
func fit(sections []section, room int) ([]section, int) {
	for ; len(sections) > 0; sections = sections[:len(sections)-1] {
		size := shareOf(sections, room-(len(sections)-1)) // with a line between them
		if size >= minPart || size >= longest(sections) {
			return sections, size
		}
	}
	return nil, 0
}

// shareOf returns the maximum size of a section so that all fit into the room:
// those that are shorter leave their rest to the others.
func shareOf(sections []section, room int) int {
	left := make([]int, 0, len(sections))
	for _, s := range sections {
		left = append(left, s.size())
	}
	for {
		if len(left) == 0 {
			return maxInstructions
		}
		share := max(room, 0) / len(left)
		longer := left[:0]
		for _, n := range left {
			if n > share {
				longer = append(longer, n)
				continue
			}
			room -= n
		}
		if len(longer) == len(left) {
			return share
		}
		left = longer
	}
}

func longest(sections []section) int {
	most := 0
	for _, s := range sections {
		most = max(most, s.size())
	}
	return most
}

func (s section) size() int { return len(s.heading) + len(s.text) + len(end) }

// cut returns a text that has at most n bytes, with cutMark at the end of one
// that was longer.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	n -= len(cutMark)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:max(n, 0)] + cutMark
}
