// Package oauthclient connects the gateway to upstream servers that require
// OAuth, and users' own accounts to servers that each user connects. It discovers
// the authorization server, registers the gateway, runs the authorization by an
// administrator or the user, and refreshes tokens (specification, "Upstream
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
	"mcpgateway/services/oauthclient/accounts"
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
// authorization servers can't fetch it, or "". Implemented by package
// clientdocument.
type MetadataDocument interface {
	URL() string
	IneligibleReason(ctx context.Context) string
}

// Locks provides named locks across all processes. Implemented by locks.Locks.
type Locks interface {
	Hold(ctx context.Context, name string, wait bool, work func(context.Context) error) (held bool, err error)
}

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
	// Enabled reports whether a user is enabled. It doesn't read the database.
	// Nil means that all are.
	Enabled func(userID string) bool
	// Ended is called in every process when a user's own account was connected or
	// disconnected: its upstream sessions must end. It may be nil.
	Ended func(serverID, userID string)
	// Stored is called in the transaction that stores a connection. It may be nil.
	Stored func(tx *gorm.DB, id accounts.ID, state State, reason string) error
	Now    func() time.Time
	Log    *slog.Logger
	Tasks  *background.Tasks // may be nil
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
	cache      *accounts.Cache
	flights    singleflight.Group
	uses       accounts.Uses
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
		cache: accounts.NewCache(), wake: make(chan struct{}, 1),
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

// Changed invalidates the connection of a topic. It ends the upstream sessions
// of a user's own account that was connected or disconnected. It ignores other
// topics. It is a subscriber of the change feed.
func (c *Connections) Changed(ctx context.Context, topic notify.Topic) error {
	serverID, userID, ok := topic.ConnectionOf()
	if !ok {
		return nil
	}
	id := accounts.ID{ServerID: serverID, UserID: userID}
	known := c.cache.Forget(id)
	c.wakeRefresher()
	if !id.IsPersonal() {
		return nil
	}
	if known {
		if _, err := c.read(ctx, id); err == nil {
			return nil
		}
	}
	c.end(id)
	return nil
}

// end ends the upstream sessions of a user's own account.
func (c *Connections) end(id accounts.ID) {
	if id.IsPersonal() && c.Ended != nil {
		c.Ended(id.ServerID, id.UserID)
	}
}

// wakeRefresher wakes the background refresher.
func (c *Connections) wakeRefresher() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// change holds the additional writes of save.
type change struct {
	entry  *activity.Entry
	also   func(tx *gorm.DB) error
	topics []notify.Topic
}

// save writes a new or changed connection. If the row was changed since it was
// read, save writes nothing and returns accounts.ErrOutdated.
func (c *Connections) save(ctx context.Context, r *models.PersonalConnection, w change) error {
	read, id := r.Version, accounts.IDOf(r)
	next := *r
	next.UpdatedAt = c.Now()
	next.Version = accounts.NextVersion(read, next.UpdatedAt)
	if read == 0 {
		next.CreatedAt = next.UpdatedAt
	}
	topics := append([]notify.Topic{id.Topic()}, w.topics...)
	err := c.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		// Run also first: the deletion of a server also locks its connection last.
		if w.also != nil {
			if err := w.also(tx); err != nil {
				return err
			}
		}
		if err := accounts.Store(tx, &next, read); err != nil {
			return err
		}
		if c.Stored != nil { // before the audit log, whose lock is the last one
			if err := c.Stored(tx, id, State(next.State), next.Reason); err != nil {
				return err
			}
		}
		if w.entry != nil {
			if err := c.Audit.Record(tx, *w.entry); err != nil {
				return err
			}
		}
		return notify.Touch(tx, topics...)
	})
	switch {
	case errors.Is(err, accounts.ErrOutdated):
		return err
	case err != nil:
		return fault.From(err)
	}
	*r = next
	c.cache.Forget(id)
	c.wakeRefresher()
	c.publish(ctx, topics...)
	return nil
}

// publish notifies of committed changes. It logs a failure, because the feed also
// polls.
func (c *Connections) publish(ctx context.Context, topics ...notify.Topic) {
	if err := c.Feed.Publish(ctx, topics...); err != nil {
		c.Log.Warn("connection change not published", "topic", topics[0], "error", err)
	}
}

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
func (c *Connections) failed(r *models.PersonalConnection, f *failure) {
	now := c.Now()
	r.ErrorCode, r.ErrorText, r.ErrorAt = f.code, f.text, &now
}

// joinScopes returns scopes in the format of requests.
func joinScopes(scopes []string) string { return strings.Join(scopes, " ") }
