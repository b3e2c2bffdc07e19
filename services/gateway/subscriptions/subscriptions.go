// Package subscriptions notifies the open streams of clients of changed lists
// and resources of their project, in every process.
package subscriptions

import (
	"context"
	"sync"
	"time"

	"mcpgateway/models"
	"mcpgateway/services/access"
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
	views     gateway.Views
	resources ResourceSubscriber
	memory    SubscriptionStore
	tasks     *background.Tasks

	ctx    context.Context // of background work
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	closed   bool
	subs     map[string]map[*subscription]bool                   // by project id
	sessions map[string]*resourceSubscriber                      // by session id
	holders  map[account]map[string]map[*resourceSubscriber]bool // by URI
	watches  map[account]context.CancelFunc                      // of users' own accounts
}

// subscription is a stream that receives notifications. The fields below deliver
// are used for lists only.
type subscription struct {
	deliver  func(Notification)
	caller   access.Principal
	end      func()
	lastSent listState            // lists of the last notification; guarded by Subscriptions.mu
	notified map[string]time.Time // by method; time of the last notification; guarded by Subscriptions.mu
}

// New returns Subscriptions without subscribers. Updates of resources are
// received by ResourceUpdated. memory stores the subscriptions of sessions for
// all processes. tasks runs the goroutines and may be nil. The caller must call
// Close.
func New(views gateway.Views, resources ResourceSubscriber, memory SubscriptionStore, tasks *background.Tasks) *Subscriptions {
	ctx, cancel := context.WithCancel(context.Background())
	return &Subscriptions{
		views: views, resources: resources, memory: memory, tasks: tasks, ctx: ctx, cancel: cancel, subs: map[string]map[*subscription]bool{},
		sessions: map[string]*resourceSubscriber{}, holders: map[account]map[string]map[*resourceSubscriber]bool{},
		watches: map[account]context.CancelFunc{},
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

// Subscribe calls deliver with the notifications of the lists that a caller
// sees, until cancel is called. deliver must not block, because it is called
// with the lock held. end is called once the caller is no longer admitted.
func (s *Subscriptions) Subscribe(caller access.Principal, deliver func(Notification), end func()) (cancel func()) {
	sub := &subscription{caller: caller, deliver: deliver, end: end, notified: map[string]time.Time{}}
	projectID := caller.ProjectID()
	s.mu.Lock()
	defer s.mu.Unlock()
	if view, err := s.views.Current(caller); err == nil {
		sub.lastSent = stateOf(view)
	}
	if s.subs[projectID] == nil {
		s.subs[projectID] = map[*subscription]bool{}
	}
	s.subs[projectID][sub] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subs[projectID], sub)
		if len(s.subs[projectID]) == 0 {
			delete(s.subs, projectID)
		}
	}
}

// Changed handles a changed topic. If it may change what callers see, it
// notifies them of the lists that differ from the last notification, ends the
// streams of callers who are no longer admitted, and drops subscriptions of
// resources that they no longer see. For session resources it applies
// subscriptions made in other processes. Other topics are ignored.
func (s *Subscriptions) Changed(_ context.Context, topic notify.Topic) error {
	if topic.IsSessionResources() {
		s.sessionsChanged(topic)
		return nil
	}
	projectID, ok := projectOf(topic)
	if !ok {
		return nil
	}
	s.recheck(projectID)
	return nil
}

// Recheck does what Changed does after a change, for all callers. It must be
// called when time changes what callers see.
func (s *Subscriptions) Recheck() { s.recheck("") }

// recheck applies what the callers of a project see now or, if projectID is
// empty, those of all projects.
func (s *Subscriptions) recheck(projectID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, subs := range s.subs {
		if projectID != "" && id != projectID {
			continue
		}
		for sub := range subs {
			s.listsChanged(sub)
		}
	}
	s.dropHidden(projectID)
}

// projectOf returns the project whose views a topic concerns, or "" for all of
// them. ok is false for topics that concern none.
func projectOf(topic notify.Topic) (projectID string, ok bool) {
	for _, of := range []func() (string, bool){topic.ToolsetOf, topic.KeysOf, topic.AccessOf, topic.GrantsOf} {
		if id, ok := of(); ok {
			return id, true
		}
	}
	return "", topic.IsPeople()
}

// listsChanged notifies a stream of changed lists, or ends it. The caller must
// hold mu.
func (s *Subscriptions) listsChanged(sub *subscription) {
	view, err := s.views.Current(sub.caller)
	if err != nil {
		s.tasks.Go("stream without access", sub.end) // it cancels the subscription
		return
	}
	was, is := sub.lastSent, stateOf(view)
	sub.lastSent = is
	if was.tools != is.tools {
		sub.send(NotifyToolsChanged)
	}
	if was.prompts != is.prompts {
		sub.send(NotifyPromptsChanged)
	}
	if was.resources != is.resources {
		sub.send(NotifyResourcesChanged)
	}
}

// minRelistTime is the minimum time between two notifications of one kind if an
// announced list is unchanged.
const minRelistTime = time.Second

// Listed must be called after a list was read that a server of the project
// announced as changed. It notifies the subscribers who see the server even if
// the list is equal, except those who received the same notification within
// minRelistTime.
func (s *Subscriptions) Listed(projectID, alias, method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sub := range s.subs[projectID] {
		if time.Since(sub.notified[method]) < minRelistTime {
			continue
		}
		if view, err := s.views.Current(sub.caller); err == nil && view.Server(alias) != nil {
			sub.send(method)
		}
	}
}

// send sends the notification of a list. The caller must hold mu.
func (s *subscription) send(method string) {
	s.notified[method] = time.Now()
	s.deliver(Notification{Method: method})
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
