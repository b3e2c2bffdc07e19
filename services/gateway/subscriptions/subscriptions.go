// Package subscriptions notifies the open streams of clients of changed lists
// and resources of their project, in every process.
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

// Notifications that clients can subscribe to.
const (
	NotifyToolsChanged     = upstream.ToolsListChanged
	NotifyPromptsChanged   = upstream.PromptsListChanged
	NotifyResourcesChanged = upstream.ResourcesListChanged
	NotifyResourceUpdated  = upstream.ResourceUpdated
)

// Subscriptions notify the open streams of clients when a list of their project
// or a subscribed resource changes. It is safe for concurrent use.
type Subscriptions struct {
	projects  gateway.Projects
	resources ResourceSubscriber
	memory    SubscriptionStore
	tasks     *background.Tasks

	ctx    context.Context // of background work
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	closed   bool
	subs     map[string]map[*subscription]bool                  // by project id
	lastSent map[string]listState                               // by project id; lists of the last notification
	notified map[string]map[string]time.Time                    // by project id and method; time of the last notification
	sessions map[string]*resourceSubscriber                     // by session id
	holders  map[string]map[string]map[*resourceSubscriber]bool // by server id and URI
}

type subscription struct{ deliver func(Notification) }

// New returns Subscriptions without subscribers. Updates of resources are
// received by ResourceUpdated. memory stores the subscriptions of sessions for
// all processes. tasks runs the goroutines and may be nil. The caller must call
// Close.
func New(projects gateway.Projects, resources ResourceSubscriber, memory SubscriptionStore, tasks *background.Tasks) *Subscriptions {
	ctx, cancel := context.WithCancel(context.Background())
	return &Subscriptions{
		projects: projects, resources: resources, memory: memory, tasks: tasks, ctx: ctx, cancel: cancel, subs: map[string]map[*subscription]bool{}, lastSent: map[string]listState{}, notified: map[string]map[string]time.Time{},
		sessions: map[string]*resourceSubscriber{}, holders: map[string]map[string]map[*resourceSubscriber]bool{},
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

// Subscribe calls deliver with the list notifications of a project until cancel
// is called. deliver must not block, because it is called with the lock held.
func (s *Subscriptions) Subscribe(projectID string, deliver func(Notification)) (cancel func()) {
	sub := &subscription{deliver: deliver}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subs[projectID] == nil {
		s.subs[projectID] = map[*subscription]bool{}
		s.lastSent[projectID] = stateOf(s.projects.ProjectByID(projectID))
	}
	s.subs[projectID][sub] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subs[projectID], sub)
		if len(s.subs[projectID]) == 0 {
			delete(s.subs, projectID)
			delete(s.lastSent, projectID)
			delete(s.notified, projectID)
		}
	}
}

// Changed handles a changed topic. For a toolset it notifies the project's
// subscribers of the lists that differ from the last notification. For session
// resources it applies subscriptions made in other processes. Other topics are
// ignored.
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
	was, is := s.lastSent[projectID], stateOf(s.projects.ProjectByID(projectID))
	s.lastSent[projectID] = is
	if was.tools != is.tools {
		s.broadcast(projectID, Notification{Method: NotifyToolsChanged})
	}
	if was.prompts != is.prompts {
		s.broadcast(projectID, Notification{Method: NotifyPromptsChanged})
	}
	if was.resources != is.resources {
		s.broadcast(projectID, Notification{Method: NotifyResourcesChanged})
	}
	return nil
}

// minRelistTime is the minimum time between two notifications of one kind if an
// announced list is unchanged.
const minRelistTime = time.Second

// Listed must be called after a list was read that a server of the project
// announced as changed. It notifies the subscribers even if the list is equal,
// unless they received the same notification within minRelistTime.
func (s *Subscriptions) Listed(projectID, method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.notified[projectID][method]) >= minRelistTime {
		s.broadcast(projectID, Notification{Method: method})
	}
}

// broadcast sends a notification to the subscribers of a project. The caller must
// hold mu.
func (s *Subscriptions) broadcast(projectID string, n Notification) {
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

// sessionsChanged applies the stored subscriptions of the topic's sessions that
// have a stream or subscriptions here.
func (s *Subscriptions) sessionsChanged(topic notify.Topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.sessions {
		if topic.HasResourcesOf(id) && (len(h.streams) > 0 || len(h.resources) > 0) {
			s.background(func(ctx context.Context) { s.restore(ctx, h) })
		}
	}
}
