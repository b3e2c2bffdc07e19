// Package live serves the event stream of an open admin page. A page names topics;
// each topic renders parts of the page, and a part whose HTML has changed is sent.
package live

import (
	"context"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mcpgateway/services/access/reach"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	"mcpgateway/web/guard"
)

// Topic renders parts of pages that change while they are open.
type Topic struct {
	Name string
	// Every is the time between renderings, at least one second.
	Every time.Duration
	// Open begins the topic for one page.
	Open func(s Scope) (Render, error)
}

// Scope is the page for which a topic renders.
type Scope struct {
	Person *guard.User
	// Project returns the current state of the page's project. It is nil for a
	// page outside of projects, and after the project was deleted.
	Project func() *toolset.Snapshot
	// Reach limits what the page shows. It uses the present grants.
	Reach reach.Reach
	Arg   string // the text after the topic's name and a colon; may be empty
	From  string // id of the last event that the browser received; may be empty
}

// Admin reports whether the user may change the page's project now.
func (s Scope) Admin() bool {
	p := s.Project()
	return p != nil && s.Reach.Administers(&p.Project)
}

// Render returns the parts of a topic in their current state.
type Render func(ctx context.Context) ([]Part, error)

// Part is a part of the page.
type Part struct {
	ID string // of the element
	// Body replaces the element, and carries its id.
	Body templ.Component
	// Prepend adds Body, rows, at the beginning of the element instead, which
	// keeps at most this many.
	Prepend int
	// Event is the id of a prepended event, sent back as Scope.From when the
	// browser reconnects; may be empty.
	Event string
}

// Limits of a request.
const (
	maxTopics   = 8
	maxTopicLen = 2100
)

// requested returns the topics of a request with their arguments. It returns
// INVALID_PARAMETER for an unknown topic.
func (l *Live) requested(names []string) (topics []Topic, args []string, err error) {
	if len(names) == 0 || len(names) > maxTopics {
		return nil, nil, fault.Invalid("Name 1 to %d topics.", maxTopics)
	}
	for _, name := range names {
		name, arg, _ := strings.Cut(name, ":")
		topic, known := l.topics[name]
		if !known || len(arg) > maxTopicLen {
			return nil, nil, fault.Invalid("There is no topic %q.", name)
		}
		topics, args = append(topics, topic), append(args, arg)
	}
	return topics, args, nil
}
