// Package inventory reads what upstream servers offer into the database, and
// decides when: in a plan, on request, and when a server announces a change.
// It also previews servers that are not stored yet.
package inventory

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/listing"
	"mcpgateway/services/upstream/pool"
)

// Publisher tells this process and others of committed changes.
type Publisher interface {
	Published(ctx context.Context, topics ...notify.Topic) error
}

// Options are what a Syncer works with. All must be set unless the comment
// says otherwise.
type Options struct {
	DB     *gorm.DB
	Pool   *pool.Pool
	Target func(models.Server) *upstream.Target // returns the call target of a server
	Feed   Publisher
	Locks  Locks // may be nil: then there are no other replicas
	Now    func() time.Time
	Log    *slog.Logger
	Tasks  *background.Tasks // may be nil

	// ResourceUpdated is called whenever an upstream reports that a resource
	// changed which a client subscribed to with Pool.Subscribe. It must not
	// block. It may be nil.
	ResourceUpdated func(serverID, uri string)
	// Listed is called whenever a sync has read what an upstream announced with
	// a notification of the method, such as ToolsListChanged, whether the list
	// changed or not. It must not block. It may be nil.
	Listed func(projectID, method string)
}

// Syncer reads what upstream servers offer into the database, and hears from
// them when that changed.
type Syncer struct {
	Options
	flight         singleflight.Group
	schedule       *schedule
	configurations notify.Configurations // that were planned for
	announced      announcements
	counts         syncCounts

	life context.Context // ends when Run does, and every run with it
	end  context.CancelFunc
	mu   sync.Mutex // guards that no run begins after the end
	runs sync.WaitGroup
}

// NewSyncer returns a syncer.
func NewSyncer(o Options) *Syncer {
	if o.ResourceUpdated == nil {
		o.ResourceUpdated = func(string, string) {}
	}
	if o.Listed == nil {
		o.Listed = func(string, string) {}
	}
	s := &Syncer{Options: o, schedule: newSchedule(o.Now)}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Sync reads what the server with the id offers and stores it: tools, prompts,
// resources and resource templates. Callers at the same time share runs, and
// each gets one that began after it asked. A list other than that of the tools
// may fail; what is stored of it then stays, and a warning says so. The result
// tells of what a run found that was under way, too. It returns
// NOT_FOUND for an unknown server and UPSTREAM_ faults when the upstream fails,
// in which case the stored tools stay and the failure is recorded. Once Run has
// ended it returns UNAVAILABLE.
func (s *Syncer) Sync(ctx context.Context, serverID string) (SyncResult, error) {
	asked := time.Now()
	var earlier SyncResult
	for {
		result, err := s.share(ctx, serverID, time.Time{})
		if ctx.Err() != nil || result.began.IsZero() || !result.shared && !result.began.Before(asked) {
			return result.since(earlier), err
		}
		earlier = result.since(earlier)
	}
}

// share returns the result of a run that is under way, or begins one, which is
// content with what another replica stored after unlessSince, if that is a time.
func (s *Syncer) share(ctx context.Context, serverID string, unlessSince time.Time) (SyncResult, error) {
	// The shared run outlives the caller who happened to start it.
	run := s.flight.DoChan(serverID, func() (out any, err error) {
		err = s.Tasks.Try("sync", func() (err error) { out, err = s.lead(ctx, serverID, unlessSince); return err })
		return out, err
	})
	select {
	case r := <-run:
		result, _ := r.Val.(SyncResult)
		return result, r.Err
	case <-ctx.Done():
		return SyncResult{}, ctx.Err()
	}
}

// lead runs the sync that callers share.
func (s *Syncer) lead(ctx context.Context, serverID string, unlessSince time.Time) (SyncResult, error) {
	ctx, done, ok := s.begin(ctx, maxTurnWait+SyncTimeout)
	if !ok {
		return SyncResult{}, errEnding()
	}
	defer done()
	began := time.Now()
	result, err := s.syncAlone(ctx, serverID, unlessSince)
	result.began = began
	return result, err
}

// begin returns the context of a run of at most the length, which Run waits for
// at its end; ok is false after it.
func (s *Syncer) begin(ctx context.Context, length time.Duration) (run context.Context, done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		return nil, nil, false
	}
	s.runs.Add(1)
	run, cancel := context.WithTimeout(context.WithoutCancel(ctx), length)
	stop := context.AfterFunc(s.life, cancel)
	return run, func() { stop(); cancel(); s.runs.Done() }, true
}

// finish ends the runs under way and waits for them.
func (s *Syncer) finish() {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.runs.Wait()
}

func errEnding() *fault.Fault {
	return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "the gateway shuts down: sync again when it is back")
}

func (s *Syncer) sync(ctx context.Context, serverID string) (SyncResult, error) {
	var server models.Server
	err := s.DB.WithContext(ctx).First(&server, "id = ?", serverID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		s.schedule.forget(serverID)
		return SyncResult{}, fault.NotFound("server", serverID)
	}
	if err != nil {
		s.schedule.failed(serverID)
		return SyncResult{}, fault.Internal(err)
	}
	start := time.Now()
	found, listErr := s.read(ctx, server)
	if listErr != nil && s.life.Err() != nil {
		return SyncResult{}, errEnding().Because(listErr) // which says nothing about the upstream
	}
	result := SyncResult{Server: server, Duration: time.Since(start), Warnings: found.warnings, Total: len(found.tools)}
	// The outcome is stored even when it took the whole of the time-out.
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err = s.store(store, &result, found, listErr)
	switch {
	case errors.Is(err, errConfigChanged):
		s.schedule.due(serverID)
		return result, fault.Conflict("server %s was changed while it was read: it will be read again", server.Alias)
	case errors.Is(err, gorm.ErrRecordNotFound):
		s.schedule.forget(serverID)
		return result, fault.NotFound("server", serverID)
	case err != nil:
		s.schedule.done(serverID, server.ConfigVersion, false)
		return result, fault.Internal(err)
	}
	s.schedule.done(serverID, server.ConfigVersion, listErr == nil)
	s.counts.add(listErr)
	if listErr == nil {
		s.schedule.synced(serverID, s.Now())
		s.schedule.watch(server)
	}
	s.report(&result, listErr)
	if result.touched {
		if err := s.Feed.Published(store, notify.Toolset(server.ProjectID)); err != nil {
			return result, err
		}
	}
	return result, listErr
}

// listed is what a server offers.
type listed struct {
	tools    [][]byte
	about    *upstream.Description
	offers   map[models.ListingKind][]models.Listing
	warnings []string
}

// read reads what a server offers.
func (s *Syncer) read(ctx context.Context, server models.Server) (found *listed, err error) {
	target := s.Target(server)
	found = &listed{}
	if found.tools, found.about, found.warnings, err = s.Pool.ListTools(ctx, target); err != nil {
		return found, err
	}
	offers, warnings := s.listOffers(ctx, target)
	found.offers, found.warnings = offers, append(found.warnings, warnings...)
	return found, nil
}

// store writes what was found, or that reading failed with listErr, unless the
// server was changed meanwhile.
func (s *Syncer) store(ctx context.Context, result *SyncResult, found *listed, listErr error) error {
	server := result.Server
	return s.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var now models.Server
		if err := tx.Clauses(models.LockRow(tx)...).First(&now, "id = ?", server.ID).Error; err != nil {
			return err
		}
		if now.ConfigVersion != server.ConfigVersion {
			return errConfigChanged
		}
		var err error
		if listErr != nil {
			result.touched, err = s.storeFailure(tx, server.ID, fault.From(listErr))
		} else {
			err = s.storeInventory(tx, result, found)
		}
		if err != nil || !result.touched {
			return err
		}
		return notify.TouchInventory(tx, server.ProjectID, server.ID)
	})
}

// listOffers reads the lists other than that of the tools, all at once. A list
// that fails is not among them.
func (s *Syncer) listOffers(ctx context.Context, t *upstream.Target) (offers map[models.ListingKind][]models.Listing, warnings []string) {
	ctx, cancel := context.WithTimeout(ctx, offersTimeout)
	defer cancel()
	type list struct {
		listings []models.Listing
		warnings []string
		err      error
	}
	kinds := []models.ListingKind{models.ListingPrompt, models.ListingResource, models.ListingTemplate}
	lists := make([]list, len(kinds))
	var reading sync.WaitGroup
	for i, kind := range kinds {
		l := &lists[i]
		reading.Go(s.Tasks.Func("list of offers", func() {
			l.err = s.Tasks.Try("list of offers", func() (err error) {
				l.listings, l.warnings, err = s.Pool.ListOffers(ctx, t, kind)
				return err
			})
		}))
	}
	reading.Wait()
	offers = map[models.ListingKind][]models.Listing{}
	for i, l := range lists {
		if l.err != nil {
			warnings = append(warnings, "the list of "+listing.Offers(kinds[i]).Many+" could not be read and stays as it was: "+fault.From(l.err).Message)
			continue
		}
		offers[kinds[i]] = l.listings
		warnings = append(warnings, l.warnings...)
	}
	return offers, warnings
}

// errConfigChanged ends a sync whose answer belongs to an older configuration.
var errConfigChanged = errors.New("the configuration changed during the sync")

func (s *Syncer) report(r *SyncResult, err error) {
	log := s.Log.With("server", r.Server.Alias, "server_id", r.Server.ID, "ms", r.Duration.Milliseconds())
	if err != nil {
		f := fault.From(err)
		log.Warn("sync failed", "code", f.Code, "error", f.Error())
		return
	}
	log.Info("synced", "tools", r.Total, "added", len(r.Added), "changed", len(r.Changed), "removed", len(r.Removed), "warnings", len(r.Warnings))
}
