package tasks

import (
	"context"
	"sync"
	"time"

	"mcpgateway/services/fault"
)

// rooms count the open tasks of projects. They are read from the database at most
// every openAge, so that calls don't wait for it.
type rooms struct {
	rows Rows
	now  func() time.Time
	all  sync.Map // project id to *room
}

// room counts the open tasks of one project.
type room struct {
	mu       sync.Mutex
	readAt   time.Time
	open     map[string]int // by principal
	total    int
	reserved map[string]int // for calls in flight, by principal
	waiting  int            // sum of reserved
}

// Place is room for one more open task. A nil Place is none.
type Place struct {
	room  *room
	owner Owner
	once  sync.Once
}

// Reserve returns room for one more open task of an owner. The caller must call
// Release. It returns RATE_LIMITED if there is none, and INTERNAL if the database
// fails.
func (t *Tasks) Reserve(ctx context.Context, owner Owner) (*Place, error) {
	v, _ := t.rooms.all.LoadOrStore(owner.Project, &room{reserved: map[string]int{}})
	r := v.(*room)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refresh(ctx, &t.rooms, owner.Project); err != nil {
		return nil, err
	}
	switch {
	case r.open[owner.Principal]+r.reserved[owner.Principal] >= MaxOpen:
		return nil, tooMany("You have %d open tasks, the maximum. Cancel one, or wait until one has finished.", MaxOpen)
	case r.total+r.waiting >= MaxProjectOpen:
		return nil, tooMany("This project has %d open tasks, the maximum. Wait until one has finished.", MaxProjectOpen)
	}
	r.reserved[owner.Principal]++
	r.waiting++
	return &Place{room: r, owner: owner}, nil
}

func tooMany(format string, n int) error {
	return fault.New(fault.KindRateLimited, fault.CodeRateLimited, format, n)
}

// refresh reads the number of open tasks if the last one is too old. The caller
// must hold mu.
func (r *room) refresh(ctx context.Context, all *rooms, projectID string) error {
	if r.open != nil && all.now().Sub(r.readAt) < openAge {
		return nil
	}
	open, err := all.rows.Open(ctx, projectID)
	if err != nil {
		return err
	}
	r.open, r.total, r.readAt = open, 0, all.now()
	for _, n := range open {
		r.total += n
	}
	return nil
}

// Release returns a place that was not kept. Further calls do nothing.
func (p *Place) Release() { p.end(false) }

// keep uses the place for a task that was stored.
func (p *Place) keep() { p.end(true) }

func (p *Place) end(kept bool) {
	if p == nil {
		return
	}
	p.once.Do(func() {
		p.room.mu.Lock()
		defer p.room.mu.Unlock()
		p.room.waiting--
		if p.room.reserved[p.owner.Principal]--; p.room.reserved[p.owner.Principal] == 0 {
			delete(p.room.reserved, p.owner.Principal)
		}
		if kept && p.room.open != nil {
			p.room.open[p.owner.Principal]++
			p.room.total++
		}
	})
}

// close counts a task that has ended.
func (r *rooms) close(owner Owner) {
	v, ok := r.all.Load(owner.Project)
	if !ok {
		return
	}
	at := v.(*room)
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.open[owner.Principal] > 0 {
		at.open[owner.Principal]--
		at.total--
	}
}

// waits count the requests that wait for tasks, by server.
type waits struct {
	mu  sync.Mutex
	now map[string]int
}

// enter admits a request that waits for a task of a server. It returns
// RATE_LIMITED beyond MaxWaits.
func (w *waits) enter(serverID string) (leave func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.now[serverID] >= MaxWaits {
		return nil, tooMany("%d calls already wait for tasks of this server, the maximum. Retry later.", MaxWaits)
	}
	w.now[serverID]++
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.now[serverID]--; w.now[serverID] == 0 {
			delete(w.now, serverID)
		}
	}), nil
}
