package oauthclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"mcpgateway/models"
	"mcpgateway/services/fault"
	"mcpgateway/services/oauthclient/accounts"
	"mcpgateway/services/oauthclient/authserver"
)

// CallbackPath is the path of the gateway's redirect URIs.
const CallbackPath = "/oauth/callback"

// ClientName is the display name of the gateway at authorization servers.
const ClientName = "MCP Gateway"

// known is the gateway's registration at one authorization server.
type known struct {
	kind           Kind
	reasons        []string
	client         authserver.Credentials
	registrationID string
	redirectURI    string
}

// IssuerID returns the path segment that separates the callback URLs of
// issuers. It prevents mix-up attacks with authorization servers that don't
// send iss.
func IssuerID(issuer string) string {
	hash := sha256.Sum256([]byte(issuer))
	return hex.EncodeToString(hash[:16])
}

// register selects a registration at the authorization server, and creates a
// new dynamic one if needed. The error may be a failure; the result then has
// the reasons.
func (c *Connections) register(ctx context.Context, server *subject, a *authserver.Metadata, scopes []string) (*known, error) {
	own := c.base + CallbackPath + "/" + IssuerID(a.Issuer)
	held, err := c.heldRegistration(ctx, a.Issuer, own)
	if err != nil {
		return nil, err
	}
	why := c.Document.IneligibleReason(ctx)
	options := Options{
		Held: held != nil, DocumentsTaken: a.DocumentsSupported, DocumentEligible: why == "", DocumentWhyNot: why,
		Registers: a.RegistrationEndpoint != "", StaticID: server.OAuthClientID != "",
	}
	choice := Choose(options)
	k := &known{kind: choice.Kind, reasons: choice.Reasons, redirectURI: own}
	switch choice.Kind {
	case Held:
		return c.useHeld(k, held)
	case Document:
		k.redirectURI, k.client = c.base+CallbackPath, authserver.Credentials{ID: c.Document.URL(), Method: authserver.AuthNone}
		return k, nil
	case Dynamic:
		err := c.registerNew(ctx, server, a, scopes, k)
		f, failed := asFailure(err)
		if !failed || !options.StaticID {
			return k, err
		}
		// Fall back to the static client.
		k.reasons = append(k.reasons, "dynamic registration failed: "+strings.TrimSuffix(f.text, "."), "a static client was entered")
		return c.useStatic(k, server, a)
	case Static:
		return c.useStatic(k, server, a)
	}
	return k, fail(RegistrationRejected, authserver.CodeRegistration, "No registration is possible at "+a.Issuer+". Enter a client ID that it issued.")
}

func (c *Connections) heldRegistration(ctx context.Context, issuer, redirectURI string) (*models.ConnectionRegistration, error) {
	var r models.ConnectionRegistration
	err := c.DB.WithContext(ctx).First(&r, "issuer = ? AND redirect_uri = ? AND retired_at IS NULL AND (secret_expires_at IS NULL OR secret_expires_at > ?)", issuer, redirectURI, c.Now()).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return nil, nil
	case err != nil:
		return nil, fault.Internal(err)
	}
	return &r, nil
}

// useHeld applies a stored registration.
func (c *Connections) useHeld(k *known, held *models.ConnectionRegistration) (*known, error) {
	secret, err := c.open(held.ClientSecret, RegistrationSecretRow(held.ID))
	if err != nil {
		return k, err
	}
	k.kind, k.registrationID, k.client = Dynamic, held.ID, authserver.Credentials{ID: held.ClientID, Secret: secret, Method: held.AuthMethod}
	return k, nil
}

func (c *Connections) useStatic(k *known, server *subject, a *authserver.Metadata) (*known, error) {
	secret, err := c.ClientSecret(server.Server)
	if err != nil {
		return k, err
	}
	k.kind, k.client = Static, authserver.Credentials{ID: server.OAuthClientID, Secret: secret, Method: a.AuthMethod(!secret.IsZero())}
	return k, nil
}

// registerNew registers the gateway and stores the registration. If another
// process stored one first, that one is used.
func (c *Connections) registerNew(ctx context.Context, server *subject, a *authserver.Metadata, scopes []string, k *known) error {
	got, err := c.at(&server.Server).Register(ctx, a, authserver.RegistrationRequest{RedirectURI: k.redirectURI, Scopes: scopes, Name: ClientName, Home: c.base})
	if err != nil {
		return err
	}
	r := models.ConnectionRegistration{
		ID: uuid.Must(uuid.NewV7()).String(), Issuer: a.Issuer, RedirectURI: k.redirectURI,
		ClientID: got.ID, AuthMethod: got.Method, CreatedAt: c.Now(),
	}
	if !got.SecretExpires.IsZero() {
		r.SecretExpiresAt = &got.SecretExpires
	}
	if r.ClientSecret, err = c.seal(got.Secret, RegistrationSecretRow(r.ID)); err != nil {
		return err
	}
	err = c.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		expired := tx.Model(&models.ConnectionRegistration{}).
			Where("issuer = ? AND redirect_uri = ? AND retired_at IS NULL AND secret_expires_at <= ?", a.Issuer, k.redirectURI, r.CreatedAt).
			Update("retired_at", r.CreatedAt)
		if expired.Error != nil {
			return expired.Error
		}
		done := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&r)
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		return c.Audit.Record(tx, *server.entry("registered", map[string]string{"issuer": a.Issuer, "client": r.ClientID}))
	})
	if err != nil {
		return fault.From(err)
	}
	held, err := c.heldRegistration(ctx, a.Issuer, k.redirectURI)
	if err != nil || held == nil {
		return errors.Join(err, errNoRegistration)
	}
	_, err = c.useHeld(k, held)
	return err
}

var errNoRegistration = errors.New("new registration was deleted concurrently")

// DropRegistration deletes the registration at the server's last issuer, so
// that the next authorization registers again. It is for authorization servers
// that deleted the registration. Working connections keep the old one. It
// records connection.registration_dropped. It returns NOT_FOUND for an unknown
// server, and CONFLICT without a dynamic registration.
func (c *Connections) DropRegistration(ctx context.Context, serverID string) error {
	server, err := c.subject(ctx, accounts.ID{ServerID: serverID})
	if err == nil {
		err = server.checkOAuth()
	}
	if err != nil {
		return err
	}
	issuer, err := accounts.LastIssuer(c.DB.WithContext(ctx), serverID)
	if err != nil {
		return fault.Internal(err)
	}
	var last models.ConnectionFlow
	switch err := c.DB.WithContext(ctx).Order("created_at DESC").First(&last, "server_id = ?", serverID).Error; {
	case err == nil:
		issuer = last.Issuer
	case !errors.Is(err, gorm.ErrRecordNotFound):
		return fault.Internal(err)
	}
	held, err := c.heldRegistration(ctx, issuer, c.base+CallbackPath+"/"+IssuerID(issuer))
	if err != nil {
		return err
	}
	if held == nil {
		return fault.Conflict("Server %s has no registration. Connect it to create one.", server.Alias)
	}
	return c.dropRegistration(ctx, server, held.ID)
}

// dropRegistration retires a dynamic registration and records
// connection.registration_dropped.
func (c *Connections) dropRegistration(ctx context.Context, server *subject, id string) error {
	err := c.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return c.dropRegistrationIn(tx, server, id) })
	if err != nil {
		return fault.From(err)
	}
	return nil
}

func (c *Connections) dropRegistrationIn(tx *gorm.DB, server *subject, id string) error {
	// Delete retired registrations without connections.
	used := func(model any) *gorm.DB {
		return tx.Session(&gorm.Session{NewDB: true}).Model(model).Select("registration_id")
	}
	unused := tx.Where("retired_at IS NOT NULL AND id NOT IN (?) AND id NOT IN (?)", used(&models.Connection{}), used(&models.PersonalConnection{}))
	if err := unused.Delete(&models.ConnectionRegistration{}).Error; err != nil {
		return err
	}
	done := tx.Model(&models.ConnectionRegistration{}).Where("id = ? AND retired_at IS NULL", id).Update("retired_at", c.Now())
	if done.Error != nil || done.RowsAffected == 0 {
		return done.Error
	}
	return c.Audit.Record(tx, *server.entry("registration_dropped", nil))
}
