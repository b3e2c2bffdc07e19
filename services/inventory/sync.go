// Package inventory syncs the tools, prompts and resources of upstream servers
// to the database. It syncs on a schedule, on request, and when a server
// announces a change. It also previews servers that are not stored.
package inventory

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/inventory/claims"
	"mcpgateway/services/notify"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/listing"
	"mcpgateway/services/upstream/pool"
)

// Publisher notifies all processes of committed changes.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Options configures a Syncer. All fields must be set unless the comment states
// otherwise.
type Options struct {
	DB     *gorm.DB
	Pool   *pool.Pool
	Target func(models.Server) *upstream.Target // returns the call target of a server
	Feed   Publisher
	Locks  Locks // nil if there are no other replicas
	Now    func() time.Time
	Log    *slog.Logger
	Tasks  *background.Tasks // may be nil

	// Programs are the programs of runners. Their planned syncs start nothing.
	// It may be nil if there are none.
	Programs Programs
	// Readers are the users whose connections read the lists of servers where
	// users have their own accounts. It may be nil.
	Readers Readers
	// Unchecked returns why the arguments of calls can't be validated against a
	// raw tool definition, or "" if they can. It may be nil.
	Unchecked func(definition []byte) string
	// ResourceUpdated is called when an upstream reports a change of a resource
	// that a client subscribed to with Pool.Subscribe. It must not block. It
	// may be nil.
	ResourceUpdated func(serverID, uri string)
	// Observed is called with the outcome of each sync: nil, or its error. It must
	// not block. It may be nil.
	Observed func(serverID string, err error)
	// Redefined is called in the transaction of a sync with the tools whose stored
	// definitions it changed. It may be nil.
	Redefined func(tx *gorm.DB, serverID string, tools []string) error
	// Listed is called when a sync has read a list that an upstream announced
	// as changed with the notification method, such as ToolsListChanged, even
	// if the list did not change. It must not block. It may be nil.
	Listed func(projectID, alias, method string)
	// Changing is called before a sync stores the tools of a server. The
	// returned function is called once they are published in this process, with
	// the upstream names of the tools that changed, came or went. It may be nil.
	Changing func(projectID, alias string) func(ctx context.Context, tools []string)
}

// Syncer syncs the inventory of upstream servers to the database and watches
// the servers for changes.
type Syncer struct {
	Options
	running        singleflight.Group
	schedule       *schedule
	configurations notify.ConfigFilter // configurations that have a schedule
	announced      announcements
	counts         syncCounts
	Claims         *claims.Store // of the texts that servers show
	attended       attended
	first          firstReads

	life context.Context // cancelled when Run ends; parent of all runs
	end  context.CancelFunc
	mu   sync.Mutex // prevents runs from starting after the end
	runs sync.WaitGroup
}

// NewSyncer returns a syncer.
func NewSyncer(o Options) *Syncer {
	if o.ResourceUpdated == nil {
		o.ResourceUpdated = func(string, string) {}
	}
	if o.Observed == nil {
		o.Observed = func(string, error) {}
	}
	if o.Listed == nil {
		o.Listed = func(string, string, string) {}
	}
	s := &Syncer{Options: o, schedule: newSchedule(o.Now), Claims: claims.New(o.DB, o.Now)}
	if o.Changing == nil {
		s.Changing = func(string, string) func(context.Context, []string) { return func(context.Context, []string) {} }
	}
	s.attended.projects, s.attended.slots = map[string]*checker{}, make(chan struct{}, checksParallel)
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Sync reads and stores the tools, prompts, resources and resource templates of
// a server. Concurrent callers share runs, and each gets a run that started
// after its call. The result includes the changes of a run that was already in
// progress.
//
// If a list other than the tools fails, its stored elements remain and a
// warning is added. If the upstream fails, Sync returns UPSTREAM_ faults, keeps
// the stored tools and records the failure. It returns NOT_FOUND for an unknown
// server and UNAVAILABLE after Run has ended.
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

// share returns the result of a running sync, or starts one. If unlessSince is
// set, the new run accepts the result that another replica stored after that
// time.
func (s *Syncer) share(ctx context.Context, serverID string, unlessSince time.Time) (SyncResult, error) {
	// The shared run continues after the caller that started it has gone.
	run := s.running.DoChan(serverID, func() (out any, err error) {
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

// lead runs the shared sync.
func (s *Syncer) lead(ctx context.Context, serverID string, unlessSince time.Time) (SyncResult, error) {
	ctx, done, ok := s.begin(ctx, maxTurnWait+s.syncTime(serverID))
	if !ok {
		return SyncResult{}, errEnding()
	}
	defer done()
	began := time.Now()
	result, err := s.syncLocked(ctx, serverID, unlessSince)
	s.first.end(serverID)
	result.began = began
	return result, err
}

// begin returns the context of a run with the given timeout. Run waits for it
// before it returns. ok is false after Run has ended.
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

// finish cancels the running syncs and waits for them.
func (s *Syncer) finish() {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.runs.Wait()
}

func errEnding() *fault.Fault {
	return fault.New(fault.KindUnavailable, fault.CodeUnavailable, "The gateway is shutting down. Retry shortly.")
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
	hash, _, _ := s.program(serverID)
	found, listErr := s.read(ctx, server)
	if now, _, _ := s.program(serverID); now == hash { // else the next sync reads those of the new command
		found.hash = hash
	}
	if listErr != nil && s.life.Err() != nil {
		return SyncResult{}, errEnding().Because(listErr) // not a failure of the upstream
	}
	if err := s.addUnchecked(ctx, &server, found); err != nil {
		s.schedule.failed(serverID)
		return SyncResult{}, fault.Internal(err)
	}
	result := SyncResult{Server: server, Duration: time.Since(start), Warnings: found.warnings, Total: len(found.tools)}
	// The outcome is stored even if the sync used the whole timeout.
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	changed := s.Changing(server.ProjectID, server.Alias)
	err = s.store(store, &result, found, listErr)
	switch {
	case errors.Is(err, errConfigChanged):
		s.schedule.due(serverID)
		return result, fault.Conflict("Server %s changed during the sync. It will sync again.", server.Alias)
	case errors.Is(err, gorm.ErrRecordNotFound):
		s.schedule.forget(serverID)
		return result, fault.NotFound("server", serverID)
	case err != nil:
		s.schedule.done(serverID, server.ConfigVersion, false)
		return result, fault.Internal(err)
	}
	s.schedule.done(serverID, server.ConfigVersion, listErr == nil)
	s.counts.add(listErr)
	if !fault.Is(listErr, fault.CodeConnectionRequired) { // not a failure of the server
		s.Observed(serverID, listErr)
	}
	if listErr == nil {
		result.Warnings = append(result.Warnings, overrideWarnings(server, found.tools)...) // not stored: overrides can change
		s.schedule.synced(serverID, s.Now())
		if !server.IsPersonal() { // a user's connection is only used to read lists
			s.schedule.watch(server)
		}
	}
	s.report(&result, listErr)
	if result.touched {
		if err := s.Feed.Publish(store, notify.Toolset(server.ProjectID)); err != nil {
			return result, err
		}
		changed(store, slices.Concat(result.Added, result.Changed, result.Removed))
	}
	return result, listErr
}

// listed is the content of a server's lists.
type listed struct {
	tools    [][]byte
	about    *upstream.Description
	offers   map[models.ListingKind][]models.Listing
	warnings []string
	hash     string // of the program's command; empty if unknown
}

// read reads the lists of a server.
func (s *Syncer) read(ctx context.Context, server models.Server) (*listed, error) {
	if server.IsPersonal() {
		return s.readAsUser(ctx, server)
	}
	return s.readFrom(ctx, s.Target(server))
}

// readFrom reads the lists of a target.
func (s *Syncer) readFrom(ctx context.Context, target *upstream.Target) (found *listed, err error) {
	found = &listed{}
	if found.tools, found.about, found.warnings, err = s.Pool.ListTools(ctx, target); err != nil {
		return found, err
	}
	offers, warnings := s.listOffers(ctx, target)
	found.offers, found.warnings = offers, append(found.warnings, warnings...)
	return found, nil
}

// store writes the lists, or the failure listErr, unless the configuration
// changed in the meantime.
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
		claimed, err := false, error(nil)
		if listErr != nil {
			result.touched, err = s.storeFailure(tx, server.ID, fault.From(listErr))
		} else {
			claimed, err = s.storeLists(tx, result, found)
		}
		if err == nil && s.Redefined != nil {
			err = s.Redefined(tx, server.ID, result.Changed)
		}
		if err != nil || !result.touched || claimed {
			result.touched = result.touched || claimed
			return err
		}
		return notify.TouchInventory(tx, server.ProjectID, server.ID)
	})
}

// listOffers reads the lists other than tools concurrently. The result omits
// lists that failed and has a warning for each.
func (s *Syncer) listOffers(ctx context.Context, t *upstream.Target) (offers map[models.ListingKind][]models.Listing, warnings []string) {
	ctx, cancel := context.WithTimeout(ctx, offersTimeout)
	defer cancel()
	type list struct {
		listings []models.Listing
		warnings []string
		err      error
	}
	kinds := []models.ListingKind{models.ListingPrompt, models.ListingResource, models.ListingTemplate, models.ListingSkill}
	lists := make([]list, len(kinds))
	var reading sync.WaitGroup
	for i, kind := range kinds {
		l := &lists[i]
		reading.Go(s.Tasks.Func("offer list", func() {
			l.err = s.Tasks.Try("offer list", func() (err error) {
				l.listings, l.warnings, err = s.Pool.ListOffers(ctx, t, kind)
				return err
			})
		}))
	}
	reading.Wait()
	offers = map[models.ListingKind][]models.Listing{}
	for i, l := range lists {
		if l.err != nil {
			warnings = append(warnings, "the list of "+listing.Offers(kinds[i]).Many+" failed to load and was not updated: "+fault.From(l.err).Message)
			continue
		}
		offers[kinds[i]] = l.listings
		warnings = append(warnings, l.warnings...)
	}
	return offers, warnings
}

// errConfigChanged means that the result of a sync belongs to an older
// configuration.
var errConfigChanged = errors.New("configuration changed during the sync")

func (s *Syncer) report(r *SyncResult, err error) {
	log := s.Log.With("server", r.Server.Alias, "server_id", r.Server.ID, "ms", r.Duration.Milliseconds())
	if err != nil {
		f := fault.From(err)
		log.Warn("sync failed", "code", f.Code, "error", f.Error())
		return
	}
	log.Info("sync completed", "tools", r.Total, "added", len(r.Added), "changed", len(r.Changed), "removed", len(r.Removed), "warnings", len(r.Warnings))
}
