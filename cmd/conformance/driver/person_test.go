//go:build conformance

package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gorm.io/gorm"

	"mcpgateway/migrations"
	"mcpgateway/models"
	"mcpgateway/services/activity"
	"mcpgateway/services/fault"
	"mcpgateway/services/locks"
	"mcpgateway/services/notify"
	"mcpgateway/services/oauthclient"
	"mcpgateway/services/secrets"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/credentials"
)

const (
	// authorization is the prefix of scenarios about authorization.
	authorization = "auth/"
	// maxConnects is the maximum number of authorizations per job. It stops loops (MCP
	// 2025-11-25, "Scope Challenge Handling").
	maxConnects = 3
	// publicURL is the public URL of the driver's gateway. Nothing listens there: the
	// user's browser doesn't follow the redirect to it.
	publicURL = "http://127.0.0.1:1"
	// browserSession is the user's browser session.
	browserSession = "driver"
	// documentURL is the URL of the client metadata document that the suites expect.
	documentURL = "https://conformance-test.local/client-metadata.json"
)

// document is the client metadata document that the suites expect.
type document struct{}

func (document) URL() string                             { return documentURL }
func (document) IneligibleReason(context.Context) string { return "" }

// person authorizes the gateway when a server requires it, like an administrator
// with a browser.
type person struct {
	connections *oauthclient.Connections
	browser     *http.Client
	server      models.Server
	log         io.Writer
	left        int // remaining authorizations
}

// newPerson returns a user with the connections of a gateway that has one server and
// its own database. The caller must call closed.
func newPerson(ctx context.Context, job Job, client *http.Client, log io.Writer) (p *person, closed func(), err error) {
	folder, err := os.MkdirTemp("", "driver-")
	if err != nil {
		return nil, nil, err
	}
	ends := []func(){func() { _ = os.RemoveAll(folder) }}
	end := func() {
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i]()
		}
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	dsn := "sqlite:" + filepath.Join(folder, "driver.db")
	db, err := models.Open(ctx, dsn)
	if err != nil {
		return nil, nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, nil, err
	}
	ends = append(ends, func() { _ = pool.Close() })
	if _, err := migrations.Up(ctx, pool, db.Name()); err != nil {
		return nil, nil, err
	}
	p = &person{browser: client, log: log, left: maxConnects}
	secret, err := p.store(db, job)
	if err != nil {
		return nil, nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	feed, err := notify.NewFeed(db, dsn, quiet)
	if err != nil {
		return nil, nil, err
	}
	held, err := locks.Open(ctx, db, dsn, nil)
	if err != nil {
		return nil, nil, err
	}
	keys, err := secrets.LoadOrCreateKeyFile(filepath.Join(folder, "secrets.key"))
	if err != nil {
		return nil, nil, err
	}
	public, err := url.Parse(publicURL)
	if err != nil {
		return nil, nil, err
	}
	now := func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
	p.connections = oauthclient.New(oauthclient.Settings{
		DB: db, Locks: held, HTTP: client, Keys: keys, Audit: activity.NewAudit(db, now), Feed: feed, Document: document{}, PublicURL: public,
		ClientSecret: func(models.Server) (secrets.Value, error) { return secret, nil }, Now: now, Log: quiet,
	})
	feed.Subscribe(p.connections.Changed)
	ends = append(ends, p.connections.Close)
	return p, end, nil
}

// store stores the job's server. If the suite has preregistered a client, store
// adds its ID to the server and returns its secret.
func (p *person) store(db *gorm.DB, job Job) (secrets.Value, error) {
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
	}
	if len(job.Context) > 0 {
		if err := json.Unmarshal(job.Context, &given); err != nil {
			return secrets.Value{}, fmt.Errorf("invalid MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	project := models.Project{ID: "driver", Slug: "driver", Name: "driver", AuthMode: models.AuthAPIKey, ToolExposure: models.ExposeFull}
	p.server = models.Server{
		ID: "conformance", ProjectID: project.ID, Alias: "conformance", AliasFold: "conformance", URL: job.URL, AuthType: models.UpstreamAuthOAuth,
		Transport: models.TransportAuto, SessionMode: models.SessionShared, DefinitionPolicy: models.PolicyFollow, Enabled: true,
		TimeoutMS: callTimeout.Milliseconds(), OAuthClientID: given.ClientID, ConfigVersion: 1,
	}
	return secrets.NewValue(given.ClientSecret), errors.Join(db.Create(&project).Error, db.Create(&p.server).Error)
}

// noSecrets resolves every reference to an empty secret: the server has no
// credentials besides its connection.
type noSecrets struct{}

func (noSecrets) Resolve(string, string) (secrets.Value, error) { return secrets.Value{}, nil }

// target returns the target for the server with its connection.
func (p *person) target() *upstream.Target {
	return credentials.NewConnectedTarget(p.server, noSecrets{}, credentials.Rows{}, p.connections)
}

// helps authorizes the connection if err shows that the server requires it. It
// reports whether it did.
func (p *person) helps(ctx context.Context, err error) (bool, error) {
	if !fault.Is(err, fault.CodeUpstreamUnauthorized) || p.left == 0 {
		return false, nil
	}
	status, err := p.connections.Status(ctx, p.server.ID)
	if err != nil || !status.NeedsPerson() {
		return false, err
	}
	p.left--
	fmt.Fprintf(p.log, "authorizing the connection in state %s\n", status.State)
	return true, p.authorize(ctx)
}

// authorize completes the authorization flow.
func (p *person) authorize(ctx context.Context) error {
	at, err := p.connections.Start(ctx, oauthclient.Start{ServerID: p.server.ID, SessionID: browserSession})
	for err == nil && at != "" {
		var back *url.URL
		if back, err = p.visit(ctx, at); err != nil {
			return err
		}
		q := back.Query()
		cb := oauthclient.Callback{
			SessionID: browserSession, State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), HasIssuer: q.Has("iss"),
			Error: q.Get("error"), Description: q.Get("error_description"),
		}
		if id, ok := strings.CutPrefix(back.Path, oauthclient.CallbackPath+"/"); ok {
			cb.IssuerID = id
		}
		var done oauthclient.Finished
		done, err = p.connections.Finish(ctx, cb)
		at = done.AuthorizeURL
	}
	if err != nil {
		return fmt.Errorf("authorize: %w", err)
	}
	return nil
}

// visit opens an authorization URL and returns the URL of its redirect.
func (p *person) visit(ctx context.Context, address string) (*url.URL, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := p.browser.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	back, err := resp.Location()
	if err != nil || back.Scheme+"://"+back.Host != publicURL {
		return nil, fmt.Errorf("authorization server returned HTTP %d without a redirect to the gateway", resp.StatusCode)
	}
	return back, nil
}
