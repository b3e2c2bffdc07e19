// Package oauthclient connects the gateway to upstream servers that require
// OAuth. It discovers the authorization server, registers the gateway, runs the
// authorization by an administrator, and refreshes tokens (specification,
// "Upstream authentication"; MCP "Authorization").
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

// Auditor records a change or a security event in the writer's transaction.
type Auditor interface {
	Record(tx *gorm.DB, e activity.Entry) error
}

// Publisher notifies this process and others of committed changes.
type Publisher interface {
	Publish(ctx context.Context, topics ...notify.Topic) error
}

// Sealer encrypts secrets for the row that stores them, and decrypts them.
type Sealer interface {
	Seal(v secrets.Value, row string) (string, error)
	Open(sealed, row string) (secrets.Value, error)
}

// MetadataDocument returns the URL of the client metadata document, and the reason
// authorization servers can't fetch it, or "". Implemented by ClientDocument.
type MetadataDocument interface {
	URL() string
	IneligibleReason(ctx context.Context) string
}

// Locks provides named locks across all processes. Implemented by locks.Locks.
type Locks interface {
	Hold(ctx context.Context, name string, wait bool, work func(context.Context) error) (held bool, err error)
}

// lockOf returns the name of the lock for refreshing a server's tokens.
func lockOf(serverID string) string { return "connection " + serverID }

// Settings holds the dependencies of Connections.
type Settings struct {
	DB    *gorm.DB
	Locks Locks
	HTTP  *http.Client // of package egress
	// ClientOf returns the HTTP client for a server with its own TLS settings, and
	// nil for others. It may be nil.
	ClientOf  func(server models.Server) *http.Client
	Keys      Sealer
	Audit     Auditor
	Feed      Publisher
	Document  MetadataDocument
	PublicURL *url.URL
	// ClientSecret returns the secret of a server's static client, or the zero
	// Value.
	ClientSecret func(server models.Server) (secrets.Value, error)
	// PrivateKey returns the private key of a server's client credentials in PEM
	// format, or the zero Value.
	PrivateKey func(server models.Server) (secrets.Value, error)
	// Address returns the URL of a server with its secret query values. A nil
	// Address means that URLs have none.
	Address func(server models.Server) (string, error)
	Now     func() time.Time
	Log     *slog.Logger
	Tasks   *background.Tasks // may be nil
	// RequestTimeout limits one request to an authorization server. The default
	// is 10 seconds.
	RequestTimeout time.Duration
}

// Connections manages the OAuth connections to upstream servers. It is safe for
// concurrent use.
type Connections struct {
	Settings
	authClient *authserver.Client
	base       string // public URL without a trailing slash
	cache      *cache
	flights    singleflight.Group
	wake       chan struct{}
	ownSecrets sync.Map // server ID to the hash of its client's last secret

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// at returns the client for requests about a server: with the server's TLS settings
// at its own origin.
func (c *Connections) at(server *models.Server) *authserver.Client {
	if c.ClientOf != nil {
		if own := c.ClientOf(*server); own != nil {
			return authserver.NewClient(own, c.RequestTimeout)
		}
	}
	return c.authClient
}

// address returns the URL for requests to a server.
func (c *Connections) address(server models.Server) (string, error) {
	if c.Address == nil {
		return server.URL, nil
	}
	return c.Address(server)
}

// New returns the Connections of the database. The caller must call Close.
func New(s Settings) *Connections {
	if s.RequestTimeout <= 0 {
		s.RequestTimeout = requestTimeout
	}
	return &Connections{
		Settings: s, authClient: authserver.NewClient(s.HTTP, s.RequestTimeout), base: strings.TrimSuffix(s.PublicURL.String(), "/"),
		cache: newCache(), wake: make(chan struct{}, 1),
	}
}

// Close rejects new work and waits for refreshes in progress, whose tokens
// would be lost otherwise. They take at most 30 seconds.
func (c *Connections) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.work.Wait()
}

// begin registers work for Close. It returns false after Close.
func (c *Connections) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Add(1)
	return true
}

// Changed invalidates the connection of a topic. It ignores other topics. It is
// a subscriber of the change feed.
func (c *Connections) Changed(_ context.Context, topic notify.Topic) error {
	if serverID, _, ok := topic.ConnectionOf(); ok {
		c.cache.forget(serverID)
		c.wakeRefresher()
	}
	return nil
}

// wakeRefresher wakes the background refresher.
func (c *Connections) wakeRefresher() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// errOutdated reports that a row was changed since it was read.
var errOutdated = errors.New("connection was changed concurrently")

// row reads the connection of a server. found is false if it never had one.
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

// change holds the additional writes of save.
type change struct {
	entry  *activity.Entry
	also   func(tx *gorm.DB) error
	topics []notify.Topic
}

// save writes a new or changed connection. If the row was changed since it was
// read, save writes nothing and returns errOutdated.
func (c *Connections) save(ctx context.Context, r *models.Connection, w change) error {
	read := r.Version
	next := *r
	next.Version, next.UpdatedAt = read+1, c.Now()
	if read == 0 {
		next.CreatedAt = next.UpdatedAt
	}
	topics := append([]notify.Topic{notify.Connection(r.ServerID)}, w.topics...)
	err := c.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		// Run also first: the deletion of a server also locks its connection last.
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
	c.wakeRefresher()
	if err := c.Feed.Publish(ctx, topics...); err != nil {
		// The row is committed, and the feed also polls.
		c.Log.Warn("connection change not published", "server", r.ServerID, "error", err)
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

// subject is a server with its project's slug.
type subject struct {
	models.Server
	project string
}

// entry returns an audit entry about a server's connection.
func (s *subject) entry(action string, detail map[string]string) *activity.Entry {
	return &activity.Entry{Action: "connection." + action, Object: s.Alias, ObjectID: s.ID, Project: s.project, Detail: detail}
}

// server returns a server, or NOT_FOUND.
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

// AccessTokenRow returns the row name to which a server's access token is
// sealed.
func AccessTokenRow(serverID string) string { return "connections/" + serverID + "/access_token" }

// RefreshTokenRow returns the row name to which a server's refresh token is
// sealed.
func RefreshTokenRow(serverID string) string { return "connections/" + serverID + "/refresh_token" }

// RegistrationSecretRow returns the row name to which the client secret of a
// dynamic registration is sealed.
func RegistrationSecretRow(id string) string {
	return "connection_registrations/" + id + "/client_secret"
}

// seal encrypts a secret. The zero Value becomes the empty string.
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

// failed stores a failure as the last one of a connection.
func (c *Connections) failed(r *models.Connection, f *failure) {
	now := c.Now()
	r.ErrorCode, r.ErrorText, r.ErrorAt = f.code, f.text, &now
}

// joinScopes returns scopes in the format of requests.
func joinScopes(scopes []string) string { return strings.Join(scopes, " ") }
