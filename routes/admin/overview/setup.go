package overview

import (
	"strconv"
	"time"

	"mcpgateway/services/checklist"
	"mcpgateway/services/toolset"
	views "mcpgateway/views/admin/overview"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/views/ui"
)

// setup returns the steps of the setup unless all are done or the user hid them.
func (v *view) setup(p *toolset.Snapshot) views.Setup {
	if v.hidden || v.progress.Finished() {
		return views.Setup{}
	}
	s := views.Setup{Hide: paths.Project(p.Project.Slug) + "?setup=hide"}
	for _, step := range v.progress.Steps {
		s.Steps = append(s.Steps, v.step(p, step))
	}
	return s
}

// step returns a step with its text: what was done, or what to do.
func (v *view) step(p *toolset.Snapshot, step checklist.Step) ui.ChecklistStep {
	slug := p.Project.Slug
	var s ui.ChecklistStep
	switch step.Kind {
	case checklist.StepServer:
		s = ui.ChecklistStep{Title: "Add a server", Text: "Paste a URL or JSON, or pick one from the catalog.", ActionLabel: "Add server", ActionURL: paths.NewServer(slug)}
		if step.Done {
			s.Text = serversAdded(p)
		}
	case checklist.StepTry:
		s = ui.ChecklistStep{Title: "Try a tool", Text: "Call one in the browser, like a client would."}
		if v.progress.Tool != "" {
			s.ActionLabel, s.ActionURL = "Try a tool", paths.Tool(slug, v.progress.Tool)
		}
		if call := v.progress.Tried; call != nil {
			s.Text = call.Tool + " · " + ui.Took(time.Duration(call.DurationUS)*time.Microsecond)
		} else if step.Done {
			s.Text = "A client called one."
		}
	case checklist.StepKey:
		s = ui.ChecklistStep{Title: "Create a key", Text: "Clients send it with every request.", ActionLabel: "Create key", ActionURL: paths.NewKey(slug)}
		if step.Done {
			s.Text = v.progress.Key
		}
	case checklist.StepSignIn:
		s = ui.ChecklistStep{Title: "Add members", Text: "Only members can sign in to this project.", ActionLabel: "Add members", ActionURL: v.accessURL(slug)}
		if v.limited {
			s.Text, s.ActionLabel, s.ActionURL = "Ask an administrator to add members.", "", ""
		}
		if step.Done {
			s.Title, s.Text = "Sign-in", "Everyone with an account"
			if v.progress.Members > 0 {
				s.Text = ui.Plural(v.progress.Members, "member", "members")
			}
		}
	case checklist.StepConnect:
		s = ui.ChecklistStep{Title: "Connect a client", Text: "Paste one snippet into Claude Code, Cursor or any other client.", ActionLabel: "Show snippet", ActionURL: layout.TabConnect.URL(slug)}
		if step.Done {
			s.Text = "A client has connected."
		}
	case checklist.StepCall:
		s = ui.ChecklistStep{Title: "First call", Text: "Shows up here within a second.", ActionLabel: "Show snippet", ActionURL: layout.TabConnect.URL(slug)}
	}
	s.Done = step.Done
	if !v.admin {
		s.ActionURL = ""
	}
	return s
}

// serversAdded returns the servers of a project in words.
func serversAdded(p *toolset.Snapshot) string {
	name := ui.Plural(len(p.Servers), "server", "servers")
	if len(p.Servers) == 1 {
		name = p.Servers[0].Config.Alias
	}
	tools := len(p.AllTools())
	if tools == 1 {
		return name + " · 1 tool"
	}
	return name + " · " + strconv.Itoa(tools) + " tools"
}
