// Package oauthclient connects the gateway to upstream servers that want OAuth:
// it finds their authorization server, registers there, lets an administrator
// authorize the gateway, and keeps the tokens fresh (specification, "Upstream
// authentication"; MCP "Authorization").
package oauthclient

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"gorm.io/gorm"

	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/background"
	"mcpgateway/services/fault"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient/authserver"
	"mcpgateway/services/secrets"
)

// Auditor records a change or a security event, in the writer's transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Publisher tells this process and others of committed changes.
type Publisher interface {
	Published(ctx context.Context, topics ...notify.Topic) error
}

// Sealer seals secrets for the row that they are stored in, and opens them.
type Sealer interface {
	Seal(v secrets.Value, row string) (string, error)
	Open(sealed, row string) (secrets.Value, error)
}

// Documenter knows the URL of our client metadata document, and why it could
// not be fetched by authorization servers; "" when it could.
type Documenter interface {
	URL() string
	WhyNot(ctx context.Context) string
}

// Locks are named locks that all processes respect. Implemented by locks.Locks.
type Locks interface {
	Hold(ctx context.Context, name string, wait bool, work func(context.Context) error) (held bool, err error)
}

// lockOf returns the name of the lock under which the tokens of a server are
// renewed.
func lockOf(serverID string) string { return "connection " + serverID }

// Settings is what connections use.
type Settings struct {
	DB        *gorm.DB
	Locks     Locks
	HTTP      *http.Client // of package egress
	Keys      Sealer
	Audit     Auditor
	Feed      Publisher
	Document  Documenter
	PublicURL *url.URL
	// ClientSecret returns the secret of the static client that is configured
	// for a server; the zero Value when there is none.
	ClientSecret func(server models.Server) (secrets.Value, error)
	// Address returns the URL of a server with its secret query values. A nil
	// Address means that URLs have none.
	Address func(server models.Server) (string, error)
	Now     func() time.Time
	Log     *slog.Logger
	Tasks   *background.Tasks // may be nil
	// RequestTimeout bounds one request to an authorization server; 10 seconds
	// when it is zero.
	RequestTimeout time.Duration
}

// Connections are the OAuth connections of the gateway to upstream servers. It
// is safe for concurrent use.
type Connections struct {
	Settings
	authClient *authserver.Client
	base       string // of our own URLs, without a final slash
	cache      *cache
	flights    singleflight.Group
	wake       chan struct{}

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// address returns the URL to send requests for a server to.
func (c *Connections) address(server models.Server) (string, error) {
	if c.Address == nil {
		return server.URL, nil
	}
	return c.Address(server)
}

// New returns the connections of the database. Close waits for what they do.
func New(s Settings) *Connections {
	if s.RequestTimeout <= 0 {
		s.RequestTimeout = requestTimeout
	}
	return &Connections{
		Settings: s, authClient: authserver.NewClient(s.HTTP, s.RequestTimeout), base: strings.TrimSuffix(s.PublicURL.String(), "/"),
		cache: newCache(), wake: make(chan struct{}, 1),
	}
}

// Close waits for refreshes under way, whose tokens would be lost otherwise,
// and starts none any more. They end within half a minute.
func (c *Connections) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.work.Wait()
}

// begin announces work that Close waits for; false when closing has begun.
func (c *Connections) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Add(1)
	return true
}

// Changed forgets what is known of the connection of a topic. Other topics are
// ignored. It serves the change feed.
func (c *Connections) Changed(_ context.Context, topic notify.Topic) error {
	if serverID, ok := topic.ConnectionOf(); ok {
		c.cache.forget(serverID)
		c.poke()
	}
	return nil
}

// poke makes the background refresher look again.
func (c *Connections) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// errOutdated says that a row was changed by somebody else since it was read.
var errOutdated = errors.New("the connection was changed meanwhile")

// row reads the connection of a server; found is false when it never had one.
func row(db *gorm.DB, serverID string) (r models.Connection, found bool, err error) {
	err = db.First(&r, "server_id = ?", serverID).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return models.Connection{ServerID: serverID, State: string(NotConnected)}, false, nil
	case err != nil:
		return r, false, fault.Internal(err)
	}
	return r, true, nil
}

// change is what is written together with a connection.
type change struct {
	entry  *activity.Entry
	also   func(tx *gorm.DB) error
	topics []notify.Topic
}

// save writes a connection that was read before, or is new, unless somebody
// changed it meanwhile; then it returns errOutdated and nothing was written.
func (c *Connections) save(ctx context.Context, r *models.Connection, w change) error {
	read := r.Version
	next := *r
	next.Version, next.UpdatedAt = read+1, c.Now()
	if read == 0 {
		next.CreatedAt = next.UpdatedAt
	}
	topics := append([]notify.Topic{notify.Connection(r.ServerID)}, w.topics...)
	err := c.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		// What else is locked comes first: a server that is being deleted takes
		// its connection last, too.
		if w.also != nil {
			if err := w.also(tx); err != nil {
				return err
			}
		}
		if err := store(tx, &next, read); err != nil {
			return err
		}
		if w.entry != nil {
			if err := c.Audit.Record(tx, *w.entry); err != nil {
				return err
			}
		}
		return notify.Touch(tx, topics...)
	})
	switch {
	case errors.Is(err, errOutdated):
		return err
	case err != nil:
		return fault.From(err)
	}
	*r = next
	c.cache.forget(r.ServerID)
	c.poke()
	if err := c.Feed.Published(ctx, topics...); err != nil {
		// The row is committed, and the feed catches up by itself.
		c.Log.Warn("a changed connection was not announced", "server", r.ServerID, "error", err)
	}
	return nil
}

func store(tx *gorm.DB, next *models.Connection, read int64) error {
	if read == 0 {
		err := tx.Create(next).Error
		switch {
		case errors.Is(err, gorm.ErrDuplicatedKey):
			return errOutdated
		case errors.Is(err, gorm.ErrForeignKeyViolated):
			return fault.NotFound("server", next.ServerID)
		}
		return err
	}
	done := tx.Model(&models.Connection{}).Where("server_id = ? AND version = ?", next.ServerID, read).Select("*").Omit("server_id", "created_at").Updates(next)
	if done.Error == nil && done.RowsAffected == 0 {
		return errOutdated
	}
	return done.Error
}

// subject is a server with the slug of its project.
type subject struct {
	models.Server
	project string
}

// entry returns an audit entry about a server's connection.
func (s *subject) entry(action string, detail map[string]string) *activity.Entry {
	return &activity.Entry{Action: "connection." + action, Object: s.Alias, ObjectID: s.ID, Project: s.project, Detail: detail}
}

// server reads a server, or returns NOT_FOUND.
func (c *Connections) server(ctx context.Context, serverID string) (*subject, error) {
	s := &subject{}
	err := c.DB.WithContext(ctx).First(&s.Server, "id = ?", serverID).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, fault.NotFound("server", serverID)
	}
	if err == nil {
		err = c.DB.WithContext(ctx).Model(&models.Project{}).Where("id = ?", s.ProjectID).Pluck("slug", &s.project).Error
	}
	if err != nil {
		return nil, fault.Internal(err)
	}
	return s, nil
}

// Rows that sealed secrets of connections are bound to.

// AccessTokenRow names the access token of a server's connection.
func AccessTokenRow(serverID string) string { return "connections/" + serverID + "/access_token" }

// RefreshTokenRow names the refresh token of a server's connection.
func RefreshTokenRow(serverID string) string { return "connections/" + serverID + "/refresh_token" }

// RegistrationSecretRow names the client secret of a dynamic registration.
func RegistrationSecretRow(id string) string {
	return "connection_registrations/" + id + "/client_secret"
}

// seal seals a secret; the zero Value becomes the empty string.
func (c *Connections) seal(v secrets.Value, row string) (string, error) {
	if v.IsZero() {
		return "", nil
	}
	return c.Keys.Seal(v, row)
}

func (c *Connections) open(sealed, row string) (secrets.Value, error) {
	if sealed == "" {
		return secrets.Value{}, nil
	}
	return c.Keys.Open(sealed, row)
}

// failed puts a failure into a connection, as its last one.
func (c *Connections) failed(r *models.Connection, f *failure) {
	now := c.Now()
	r.ErrorCode, r.ErrorText, r.ErrorAt = f.code, f.text, &now
}

// joinScopes returns scopes as requests carry them.
func joinScopes(scopes []string) string { return strings.Join(scopes, " ") }
