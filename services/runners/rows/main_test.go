package rows_test

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/notify"
	"mcpgateway/services/projects"
	"mcpgateway/services/runners"
	"mcpgateway/services/runners/rows"
	"mcpgateway/services/runners/wire"
)

// world is a database with the projects p and q, and a clock.
type world struct {
	*accesstest.Clock
	DB  *gorm.DB
	dsn string
}

// replica is the store of a process, with what it sent to runners.
type replica struct {
	*rows.Store
	DB *gorm.DB

	mu      sync.Mutex
	refused map[string]map[string]string // by connector
}

func each(t *testing.T, f func(t *testing.T, w *world)) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) { f(t, newWorld(t, dsn)) })
}

func newWorld(t *testing.T, dsn string) *world {
	w := &world{Clock: accesstest.NewClock(), DB: modelstest.Open(t, dsn), dsn: dsn}
	for _, id := range []string{"p", "q"} {
		create(t, w.DB, accesstest.Project(id, models.AuthAPIKey))
	}
	return w
}

func create(t *testing.T, db *gorm.DB, row any) {
	t.Helper()
	if err := db.Create(row).Error; err != nil {
		t.Fatal(err)
	}
}

// join returns the store of another process.
func (w *world) join(t *testing.T) *replica {
	t.Helper()
	db := modelstest.Open(t, w.dsn)
	log := slog.New(slog.DiscardHandler)
	feed, err := notify.NewFeed(db, w.dsn, log)
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{DB: db, refused: map[string]map[string]string{}}
	r.Store = rows.New(rows.Options{
		DB: db, Audit: activity.NewAudit(db, w.Now), Feed: feed, Now: w.Now, Log: log,
		Refused: func(id string, refused map[string]string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.refused[id] = refused
		},
	})
	feed.Subscribe(r.Changed)
	must(t, r.Start(t.Context()))
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// server stores a server of a file.
func (w *world) server(t *testing.T, alias string, source models.ServerSource, entry string) string {
	t.Helper()
	row := projects.NewProgram("p", alias, w.Now())
	row.Source, row.Entry = source, entry
	create(t, w.DB, &row)
	return row.ID
}

// connector stores a connector of project p that expires after a time.
func (w *world) connector(t *testing.T, id string, lifetime time.Duration) runners.Peer {
	t.Helper()
	create(t, w.DB, &models.Connector{
		ID: id, ProjectID: "p", Name: "laptop " + id, Hash: accesstest.SHA256(id), Prefix: "gwc_0000", CreatedAt: w.Now(), ExpiresAt: w.Now().Add(lifetime),
	})
	return runners.Peer{Source: models.SourceConnector, ProjectID: "p", ConnectorID: id}
}

// list returns the list of a runner with programs, whose hashes are their names.
func list(names ...string) wire.List {
	l := wire.List{Version: wire.Version, Runner: "r"}
	for _, name := range names {
		l.Servers = append(l.Servers, wire.Server{Name: name, Hash: "hash of " + name, SessionMode: "shared"})
	}
	return l
}

func (r *replica) listed(t *testing.T, p runners.Peer, names ...string) map[string]string {
	t.Helper()
	ids, err := r.Listed(t.Context(), p, list(names...))
	must(t, err)
	return ids
}

// undeclared returns the aliases of servers by whether their tools are hidden.
func (w *world) undeclared(t *testing.T) map[string]bool {
	t.Helper()
	var servers []models.Server
	must(t, w.DB.Find(&servers).Error)
	hidden := map[string]bool{}
	for _, row := range servers {
		hidden[row.Alias] = row.Undeclared
	}
	return hidden
}

func (w *world) wantHidden(t *testing.T, when string, want map[string]bool) {
	t.Helper()
	if d := cmp.Diff(want, w.undeclared(t)); d != "" {
		t.Errorf("%s: undeclared servers (-want +got):\n%s", when, d)
	}
}

// audit returns the actions of the audit log with their objects.
func (w *world) audit(t *testing.T) []string {
	t.Helper()
	var entries []models.AuditEntry
	must(t, w.DB.Order("seq").Find(&entries).Error)
	var lines []string
	for _, e := range entries {
		lines = append(lines, e.Action+" "+e.Object)
	}
	return lines
}

// revision returns the revision of project p's tools.
func (w *world) revision(t *testing.T) int64 {
	t.Helper()
	var row models.Revision
	must(t, w.DB.Limit(1).Find(&row, "topic = ?", string(notify.Toolset("p"))).Error)
	return row.Revision
}
