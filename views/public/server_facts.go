package public

import (
	"slices"
	"strings"

	"mcpgateway/views/ui"
)

// facts returns what is known about the server.
func (s CatalogEntry) facts() []ui.Fact {
	facts := []ui.Fact{s.worksHere(), {Label: "Transport", Value: s.transportSentence()}, {Label: "Sign-in", Value: s.authSentence()}}
	add := func(label, value string, mono bool) {
		if value = ui.Clean(value); value != "" {
			facts = append(facts, ui.Fact{Label: label, Value: value, Mono: mono, Breaks: mono})
		}
	}
	facts = append(facts, s.checkFacts()...)
	add("URL", s.RemoteURL, true)
	add("Older URL", s.AltRemoteURL, true)
	for _, p := range s.AllPackages() {
		add("Package", p.Type+": "+p.Identifier, true)
	}
	add("Package from", s.packageProof(), false)
	for _, p := range s.AllPackages() {
		if p.Needs != "" {
			add("Command line", "Add "+p.Needs, false)
			break
		}
	}
	add("Needs", strings.Join(s.NeededVariables(), ", "), true)
	add("Version", s.Version, false)
	add("License", s.License, false)
	if s.LastReleaseAt != nil {
		add("Last release", s.LastReleaseAt.UTC().Format("2 Jan 2006"), false)
	}
	add("Publisher", s.Publisher(), false)
	add("Name", s.PublisherName+"/"+s.ServerName, true)
	if s.Verified {
		add("Evidence", s.evidence(), false)
		add("Verified by", s.verifiedBy(), false)
	}
	return facts
}

func (s CatalogEntry) worksHere() ui.Fact {
	works := ui.Fact{Label: "Works here", Value: "Yes", State: true, Tone: ui.OK}
	switch {
	case s.Local() && s.RunsHere():
		works.Value, works.Tone = "As a program, with a runner", ui.Neutral
	case s.Local():
		works.Value, works.Tone = "No, it runs as a program", ui.Neutral
	}
	return works
}

// packageProof returns what proves that the first package is the server's, or "".
func (s CatalogEntry) packageProof() string {
	switch s.PackageSource {
	case "repository":
		return "Its repository names it"
	case "registry":
		return "The official MCP registry names it"
	case "list":
		return "A public list names it, its repository doesn't"
	}
	return ""
}

// CardPath returns the path of the picture of the server for other sites.
func (s CatalogEntry) CardPath() string { return s.Path() + "/card.png" }

// CardTexts returns the texts of the picture of the server.
func (s CatalogEntry) CardTexts() (title, publisher, text, facts string) {
	publisher = "by " + s.Publisher()
	if s.Verified {
		publisher += " · verified"
	}
	words := []string{"MCP server", map[string]string{"http": "Streamable HTTP", "sse": "HTTP+SSE"}[s.ServerType], s.auth()}
	if s.Local() {
		words[1] = "runs as a program"
	}
	if n := len(s.ToolNames); n > 0 {
		words = append(words, ui.Plural(n, "tool", "tools"))
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	return s.Title(), publisher, ui.Clean(s.Description), strings.Join(words, " · ")
}
