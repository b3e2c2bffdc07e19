// Package subscriptions reports changed lists and resources of a project to the
// open streams of its clients, in whichever process they are.
package subscriptions

import (
	"context"
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/gateway"
	"mcpgateway/services/notify"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream"
)

// Notification is a JSON-RPC notification for clients. Params is raw JSON or nil.
type Notification struct {
	Method string
	Params []byte
}

// The notifications that clients can subscribe to.
const (
	NotifyToolsChanged     = upstream.ToolsListChanged
	NotifyPromptsChanged   = upstream.PromptsListChanged
	NotifyResourcesChanged = upstream.ResourcesListChanged
	NotifyResourceUpdated  = upstream.ResourceUpdated
)

// Subscriptions tell the open streams of clients that a list of their project
// or a resource that they subscribed to changed.
type Subscriptions struct {
	projects  gateway.Projects
	resources ResourceSubscriber
	memory    SessionMemory
	tasks     *background.Tasks

	ctx    context.Context // of what no client waits for
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	subs     map[string]map[*subscription]bool      // by project id
	seen     map[string]listState                   // by project id; what subscribers know
	notified map[string]map[string]time.Time        // by project id and method; when subscribers were notified last
	sessions map[string]*holder                     // by session id
	holders  map[string]map[string]map[*holder]bool // by server id and URI
}

type subscription struct{ deliver func(Notification) }

// New returns subscriptions without subscribers. What upstreams
// say of the resources that clients subscribe to comes in by ResourceUpdated;
// memory tells other processes of them. tasks starts their goroutines and may
// be nil. Close ends them.
func New(projects gateway.Projects, resources ResourceSubscriber, memory SessionMemory, tasks *background.Tasks) *Subscriptions {
	ctx, cancel := context.WithCancel(context.Background())
	return &Subscriptions{
		projects: projects, resources: resources, memory: memory, tasks: tasks, ctx: ctx, cancel: cancel, subs: map[string]map[*subscription]bool{}, seen: map[string]listState{}, notified: map[string]map[string]time.Time{},
		sessions: map[string]*holder{}, holders: map[string]map[string]map[*holder]bool{},
	}
}

// listState identifies the lists of a snapshot by their content.
type listState struct{ tools, prompts, resources string }

func stateOf(s *toolset.Snapshot) listState {
	if s == nil {
		return listState{}
	}
	return listState{
		tools: s.ToolsHash(), prompts: s.Offers.ListID(models.ListingPrompt),
		resources: s.Offers.ListID(models.ListingResource) + s.Offers.ListID(models.ListingTemplate),
	}
}

// Subscribe calls deliver with the notifications of a project until cancel is
// called. deliver must not block: it is called while others wait.
func (s *Subscriptions) Subscribe(projectID string, deliver func(Notification)) (cancel func()) {
	sub := &subscription{deliver: deliver}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subs[projectID] == nil {
		s.subs[projectID] = map[*subscription]bool{}
		s.seen[projectID] = stateOf(s.projects.ProjectByID(projectID))
	}
	s.subs[projectID][sub] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subs[projectID], sub)
		if len(s.subs[projectID]) == 0 {
			delete(s.subs, projectID)
			delete(s.seen, projectID)
			delete(s.notified, projectID)
		}
	}
}

// Changed tells the subscribers of a toolset topic's project which of its
// lists are others than they last heard of, and follows what sessions are
// subscribed to in other processes. Other topics are ignored.
func (s *Subscriptions) Changed(_ context.Context, topic notify.Topic) error {
	if topic.IsSessionResources() {
		s.sessionsChanged(topic)
		return nil
	}
	projectID, ok := topic.ToolsetOf()
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.subs[projectID]) == 0 {
		return nil
	}
	was, is := s.seen[projectID], stateOf(s.projects.ProjectByID(projectID))
	s.seen[projectID] = is
	if was.tools != is.tools {
		s.tell(projectID, Notification{Method: NotifyToolsChanged})
	}
	if was.prompts != is.prompts {
		s.tell(projectID, Notification{Method: NotifyPromptsChanged})
	}
	if was.resources != is.resources {
		s.tell(projectID, Notification{Method: NotifyResourcesChanged})
	}
	return nil
}

// minRelistTime is the shortest time between two notifications of one kind when
// a list that a server announced turned out to be equal.
const minRelistTime = time.Second

// Listed reports that a server of the project announced a changed list, after
// that was read. Subscribers that were notified of its change, or of the same
// kind less than a second ago, aren't notified again.
func (s *Subscriptions) Listed(projectID, method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.notified[projectID][method]) >= minRelistTime {
		s.tell(projectID, Notification{Method: method})
	}
}

func (s *Subscriptions) tell(projectID string, n Notification) {
	if len(s.subs[projectID]) == 0 {
		return
	}
	if s.notified[projectID] == nil {
		s.notified[projectID] = map[string]time.Time{}
	}
	s.notified[projectID][n.Method] = time.Now()
	for sub := range s.subs[projectID] {
		sub.deliver(n)
	}
}

// sessionsChanged looks again at the sessions of a topic that have a stream here.
func (s *Subscriptions) sessionsChanged(topic notify.Topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.sessions {
		if topic.HasResourcesOf(id) && (len(h.streams) > 0 || len(h.resources) > 0) {
			s.background(func(ctx context.Context) { s.recall(ctx, h) })
		}
	}
}
