package projects_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/activity"
	"mcpgateway/services/declaration"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/projects"
	"mcpgateway/services/projects/toolstate"
	"mcpgateway/services/secrets"
)

// tester is the part of testing.TB that the helpers use. rapid.T implements it
// too.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// blocked is the host that the stores of these tests reject.
const blocked = "blocked.example"

func checkURL(raw string) error {
	if strings.Contains(raw, blocked) {
		return fault.Invalid("%s may not be reached", blocked)
	}
	return nil
}

// feed records the published topics in order.
type feed struct {
	mu     sync.Mutex
	topics []notify.Topic
	err    error
}

func (f *feed) Publish(_ context.Context, topics ...notify.Topic) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.topics = append(f.topics, topics...)
	return f.err
}

// take returns the topics published since the last call.
func (f *feed) take() []notify.Topic {
	f.mu.Lock()
	defer f.mu.Unlock()
	topics := f.topics
	f.topics = nil
	return topics
}

// toolStates has another name, because projects.Store is embedded too.
type toolStates = toolstate.Store

// store is a projects.Store with access to its parts.
type store struct {
	*projects.Store
	*toolStates
	db        *gorm.DB
	feed      *feed
	now       time.Time
	ring      *secrets.KeyRing
	auditSeen int64 // id of the last audit row that audited returned
}

func newStore(t *testing.T, db *gorm.DB) *store {
	t.Helper()
	ring, err := secrets.ParseKeyRing("test:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(string) (string, bool) { return "", false }
	resolver := secrets.NewResolver(ring, secrets.NewEnvironment([]string{"MCP_UPSTREAM_*", "*_TOKEN", "GATEWAY_*"}, lookup))
	s := &store{db: db, feed: &feed{}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), ring: ring}
	s.Store = projects.NewStore(db, resolver, checkURL, activity.NewAudit(db, func() time.Time { return s.now }), s.feed, func() time.Time { return s.now })
	s.toolStates = toolstate.NewStore(db, activity.NewAudit(db, func() time.Time { return s.now }), s.feed)
	return s
}

// each runs f on both kinds of database.
func each(t *testing.T, f func(t *testing.T, s *store)) {
	t.Helper()
	modelstest.Each(t, func(t *testing.T, db *gorm.DB) { f(t, newStore(t, db)) })
}

// sqliteStore returns a store for tests that don't depend on the database.
func sqliteStore(t *testing.T) *store {
	t.Helper()
	return newStore(t, modelstest.Open(t, modelstest.SQLite(t)))
}

func parse(t tester, file string) *declaration.File {
	t.Helper()
	d, err := declaration.Parse([]byte(file))
	if err != nil {
		t.Fatalf("%v %v: %s", err, fieldsOf(err), file)
	}
	return d
}

func (s *store) apply(t tester, file string, opts ...projects.ApplyOptions) projects.Plan {
	t.Helper()
	plan, err := s.tryApply(t, file, opts...)
	if err != nil {
		t.Fatalf("%v %v: %s", err, fieldsOf(err), file)
	}
	return plan
}

func (s *store) tryApply(t tester, file string, opts ...projects.ApplyOptions) (projects.Plan, error) {
	t.Helper()
	var o projects.ApplyOptions
	for _, opt := range opts {
		o.Prune, o.DryRun = o.Prune || opt.Prune, o.DryRun || opt.DryRun
	}
	return s.Apply(context.Background(), parse(t, file), o)
}

// tryParsed is tryApply for a file that may be invalid.
func (s *store) tryParsed(t tester, file string) (projects.Plan, error) {
	t.Helper()
	d, err := declaration.Parse([]byte(file))
	if err != nil {
		return projects.Plan{}, err
	}
	return s.Apply(context.Background(), d, projects.ApplyOptions{})
}

func (s *store) export(t tester, slug string) string {
	t.Helper()
	b, err := s.Export(context.Background(), slug)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (s *store) server(t tester, slug, alias string) models.Server {
	t.Helper()
	project, err := s.Project(context.Background(), slug)
	if err != nil {
		t.Fatal(err)
	}
	servers, err := s.Servers(context.Background(), project.ID)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(servers, func(row models.Server) bool { return row.Alias == alias })
	if i < 0 {
		t.Fatalf("project %s has no server %s", slug, alias)
	}
	return servers[i]
}

// addTools stores tools like a sync.
func (s *store) addTools(t tester, serverID string, names ...string) {
	t.Helper()
	for i, name := range names {
		row := models.Tool{ServerID: serverID, Name: name, Position: i, Definition: `{"name":` + quote(name) + `}`, DefinitionHash: "hash of " + name, FirstSeenAt: s.now, ChangedAt: s.now}
		if err := s.db.Create(&row).Error; err != nil {
			t.Fatal(err)
		}
	}
}

// everything returns all rows of every table, for comparisons.
func (s *store) everything(t tester) string {
	t.Helper()
	var all struct {
		Projects    []models.Project
		Servers     []models.Server
		Tools       []models.Tool
		Inventories []models.Inventory
		Keys        []models.Key
		Revisions   []models.Revision
	}
	for _, err := range []error{
		s.db.Order("id").Find(&all.Projects).Error, s.db.Order("id").Find(&all.Servers).Error, s.db.Order("server_id, name").Find(&all.Tools).Error,
		s.db.Order("server_id").Find(&all.Inventories).Error, s.db.Order("id").Find(&all.Keys).Error, s.db.Order("topic").Find(&all.Revisions).Error,
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func fieldsOf(err error) map[string]string {
	var f *fault.Fault
	if errors.As(err, &f) {
		return f.Fields
	}
	return nil
}

// wantFault fails the test unless err is a fault with the code.
func wantFault(t tester, err error, code fault.Code) fault.Fault {
	t.Helper()
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != code {
		t.Fatalf("got %v, want a fault %s", err, code)
	}
	return *f
}

// wantProblem fails the test unless err is VALIDATION_FAILED for exactly the
// paths and the message of the first contains text.
func wantProblem(t tester, err error, text string, paths ...string) {
	t.Helper()
	f := wantFault(t, err, fault.CodeValidationFailed)
	got := make([]string, 0, len(f.Fields))
	for path := range f.Fields {
		got = append(got, path)
	}
	slices.Sort(got)
	first := paths[0]
	slices.Sort(paths)
	if !slices.Equal(got, paths) {
		t.Fatalf("problems at %q, want %q: %v", got, paths, f.Fields)
	}
	if !strings.Contains(f.Fields[first], text) {
		t.Errorf("%s: %q does not contain %q", first, f.Fields[first], text)
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}

func inProject(field string) string { return `{"projects":{"p":{` + field + `}}}` }

func inServer(field string) string {
	return inProject(`"mcpServers":{"s":{"url":"https://up.example/mcp",` + field + `}}`)
}

// object returns a JSON object of n members.
func object(n int, name func(int) string, value string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = quote(name(i)) + ":" + value
	}
	return "{" + strings.Join(items, ",") + "}"
}
