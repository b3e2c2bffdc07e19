package many

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"mcpgateway/migrations"
	"mcpgateway/models"
	"mcpgateway/services/notify"
	"mcpgateway/services/toolset"
	"mcpgateway/services/upstream/upstreamtest"
)

// Sizes are the numbers of rows. The largest project has 4% of the keys, which is
// near the limit of a project, and everyone is its member. One group has everyone,
// too.
type Sizes struct {
	Projects    int `json:"projects"`
	Servers     int `json:"servers"`
	Keys        int `json:"keys"`
	People      int `json:"people"`
	Connections int `json:"connections"` // accounts of people at servers
	Calls       int `json:"calls"`       // in the call log, of a week
}

const (
	largestShare = 25 // the largest project has one of so many keys
	// personalServers is the number of servers to which people connect their own
	// accounts.
	personalServers = 50
	// memberships is the number of projects of a person.
	memberships = 3
	// batch is the number of rows per statement. PostgreSQL takes 65,535 values.
	batch = 500
)

// check returns an error if the sizes can't be created.
func (s Sizes) check() error {
	if s.Projects < memberships || s.Servers <= personalServers || s.Keys < 1 || s.People < 2 || s.Connections < 0 || s.Calls < 0 || s.Connections > (s.People-1)*personalServers {
		return fmt.Errorf("needs at least %d projects, %d servers, a key and 2 people, and at most %d connections per person", memberships, personalServers+1, personalServers)
	}
	return nil
}

// seed creates the schema and the rows in an empty database. upstream returns the
// URL of a server.
func seed(ctx context.Context, dsn string, sizes Sizes, upstream func(n int) string) error {
	dialect, err := models.Dialect(dsn)
	if err != nil {
		return err
	}
	db, err := models.Open(ctx, dsn)
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := migrations.Up(ctx, pool, dialect); err != nil {
		return err
	}
	r := rows{Sizes: sizes, now: time.Now().UTC().Truncate(time.Millisecond), tools: upstreamtest.Standard(toolsPerUpstream), upstream: upstream}
	for _, tool := range r.tools {
		var named struct{ Name string }
		if err := json.Unmarshal([]byte(tool.Definition), &named); err != nil {
			return err
		}
		r.names = append(r.names, named.Name)
	}
	db = db.WithContext(ctx)
	for _, insert := range []func() error{
		func() error { return create(db, r.Projects, r.project) },
		func() error { return create(db, r.Projects, r.revision) },
		func() error { return create(db, r.Servers, r.server) },
		func() error { return create(db, r.Servers, r.inventory) },
		func() error { return create(db, r.Servers*toolsPerUpstream, r.tool) },
		func() error { return create(db, r.People, r.person) },
		func() error { return create(db, r.Keys, r.key) },
		func() error { return create(db, r.People*memberships, r.member) },
		func() error { return create(db, 1, r.group) },
		func() error { return create(db, r.People, r.groupMember) },
		func() error { return create(db, r.Connections, r.connection) },
		func() error { return create(db, r.Calls, r.call) },
		func() error { return db.Exec("ANALYZE").Error },
	} {
		if err := insert(); err != nil {
			return err
		}
	}
	return nil
}

// create inserts n rows.
func create[T any](db *gorm.DB, n int, row func(n int) T) error {
	for from := 0; from < n; from += batch {
		part := make([]T, min(batch, n-from))
		for i := range part {
			part[i] = row(from + i)
		}
		if err := db.Omit("Payload").Create(&part).Error; err != nil {
			return fmt.Errorf("create %T: %w", part, err)
		}
	}
	return nil
}

// rows are the rows by their number.
type rows struct {
	Sizes
	now      time.Time
	tools    []upstreamtest.Tool // of every server
	names    []string            // of the tools
	upstream func(n int) string
}

func (r *rows) project(n int) models.Project {
	return models.Project{
		ID: projectID(n), Slug: slug(n), Name: fmt.Sprintf("Project %d", n), Description: "Tools of team " + fmt.Sprint(n), AuthMode: models.AuthAPIKey,
		OAuthAccess: models.OAuthMembers, ToolExposure: models.ExposeFull, CodeModeEnabled: true, CodeModeTimeoutMS: 30_000, PersonalKeysEnabled: true,
		CreatedAt: r.now, UpdatedAt: r.now,
	}
}

// server returns a server. The servers are spread over the projects; the personal
// ones are in the projects from the second on.
func (r *rows) server(n int) models.Server {
	alias := fmt.Sprintf("s%d", n/r.Projects)
	s := models.Server{
		ID: serverID(n), ProjectID: projectID(n % r.Projects), Alias: alias, AliasFold: alias, URL: r.upstream(n), Transport: models.TransportAuto,
		AuthType: models.UpstreamAuthNone, Enabled: true, TimeoutMS: 30_000, MaxConcurrent: 16, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow,
		Connection: models.ConnectionShared, ConfigVersion: 1, CreatedAt: r.now, UpdatedAt: r.now,
	}
	if n > 0 && n <= personalServers {
		s.Connection, s.PersonalHeaders = models.ConnectionPersonal, models.StringList{"X-Api-Key"}
	}
	return s
}

// revision returns the revision of a project that was created once.
func (r *rows) revision(n int) models.Revision {
	return models.Revision{Topic: string(notify.Toolset(projectID(n))), Revision: 1}
}

// inventory returns what the first sync of a server stored, so that a later one finds
// no change.
func (r *rows) inventory(n int) models.Inventory {
	return models.Inventory{
		ServerID: serverID(n), SyncedAt: &r.now, AttemptedAt: r.now, ProtocolVersion: "2026-07-28", TransportUsed: models.TransportStreamableHTTP,
		ServerInfo: fmt.Sprintf(`{"name":"bench-%d","version":"1.0.0"}`, n%upstreams), Capabilities: `{"tools":{"listChanged":true}}`,
	}
}

// tool returns a tool with the name and definition that its server lists.
func (r *rows) tool(n int) models.Tool {
	at := n % len(r.tools)
	definition := r.tools[at].Definition
	return models.Tool{
		ServerID: serverID(n / len(r.tools)), Name: r.names[at], Position: at, Definition: definition, DefinitionHash: toolset.HashDefinition([]byte(definition)),
		ConfirmedAccess: toolset.ConfirmedAccess(models.Tool{}, []byte(definition)), FirstSeenAt: r.now, ChangedAt: r.now,
	}
}

func (r *rows) person(n int) models.User {
	email := fmt.Sprintf("person-%d@example.com", n)
	seen := r.now.Add(-time.Duration(n) * time.Minute)
	return models.User{ID: personID(n), Email: email, EmailFold: email, Name: fmt.Sprintf("Person %d", n), Role: models.RoleMember, CreatedAt: r.now, LastLoginAt: &seen}
}

func (r *rows) key(n int) models.Key {
	project := 0
	if n%largestShare != 0 {
		project = n % r.Projects
	}
	hash := sha256.Sum256(fmt.Append(nil, "key ", n))
	used := r.now.Add(-time.Duration(n) * time.Second)
	k := models.Key{
		ID: fmt.Sprintf("k%07d", n), ProjectID: projectID(project), Name: fmt.Sprintf("Key %d", n), Hash: hash[:], Prefix: fmt.Sprintf("gwk_%04d", n%10_000),
		CreatedAt: r.now, LastUsedAt: &used, Scope: models.KeyProject,
	}
	if n%4 == 3 {
		k.UserID = personID(n % r.People)
	}
	return k
}

// member returns a membership: of everyone in the first project, and then in
// others.
func (r *rows) member(n int) models.ProjectMember {
	person, of := n%r.People, n/r.People
	project := 0
	if of > 0 {
		project = 1 + (person+of)%(r.Projects-1)
	}
	return models.ProjectMember{ProjectID: projectID(project), UserID: personID(person), CreatedAt: r.now}
}

func (r *rows) group(int) models.Group {
	return models.Group{ID: "g0", Name: "Everyone", NameFold: "everyone", CreatedAt: r.now, UpdatedAt: r.now}
}

func (r *rows) groupMember(n int) models.GroupMember {
	return models.GroupMember{GroupID: "g0", UserID: personID(n), Via: models.ViaLocal, SeenAt: r.now}
}

// connection returns an account of a person: the first ones of everyone, and then
// the next. Its values are not sealed, because no call uses it.
func (r *rows) connection(n int) models.PersonalConnection {
	person, of := n%r.People, n/r.People
	server := 1 + (person+of)%personalServers
	return models.PersonalConnection{
		Connection: models.Connection{
			ServerID: serverID(server), State: "connected", ServerURL: r.upstream(server), ConnectedAt: &r.now, ConnectedBy: personID(person), Version: 1,
			CreatedAt: r.now, UpdatedAt: r.now,
		},
		UserID: personID(person), Kind: models.KindToken, Headers: models.StringMap{"X-Api-Key": "unused"},
	}
}

func (r *rows) call(n int) models.Call {
	at := r.now.Add(-time.Duration(n) * 7 * 24 * time.Hour / time.Duration(r.Calls))
	project := n % r.Projects
	if n%2 == 0 {
		project = 0
	}
	return models.Call{
		ID: fmt.Sprintf("%013x-%07d", at.UnixMilli(), n), At: at, ProjectID: projectID(project), Principal: fmt.Sprintf("gwk_%04d", n%500), Tool: "s0__echo", Server: "s0",
		DurationUS: int64(900 + n%5000), RequestBytes: 120, ResponseBytes: 300, Outcome: models.CallOK, RequestID: fmt.Sprint(n), UserID: personID(n % r.People),
	}
}

func slug(n int) string      { return fmt.Sprintf("project-%d", n) }
func projectID(n int) string { return fmt.Sprintf("p%07d", n) }
func serverID(n int) string  { return fmt.Sprintf("s%07d", n) }
func personID(n int) string  { return fmt.Sprintf("u%07d", n) }
