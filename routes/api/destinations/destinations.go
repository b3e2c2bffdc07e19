// Package destinations serves the destinations of events.
package destinations

import (
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/api"
	"mcpgateway/services/outbox/delivery"
	"mcpgateway/services/outbox/destinations"
	"mcpgateway/services/secrets"
	"mcpgateway/web"
	"mcpgateway/web/compress"
)

// maxLetters is the maximum number of dead letters in a response.
const maxLetters = 100

// Handlers serve destinations.
type Handlers struct {
	store      *destinations.Store
	deliveries *delivery.Deliveries
}

// New returns the handlers.
func New(store *destinations.Store, deliveries *delivery.Deliveries) *Handlers {
	return &Handlers{store, deliveries}
}

type record struct {
	ID           string                 `json:"id"`
	Name         string                 `json:"name"`
	Kind         models.DestinationKind `json:"kind"`
	Address      string                 `json:"address"` // without its path, which can be secret
	Filter       string                 `json:"filter"`
	Active       bool                   `json:"active"`
	State        destinations.Condition `json:"state"`
	Secret       string                 `json:"secret,omitempty"` // of a webhook, only in the response that creates it
	FormerUntil  *time.Time             `json:"formerSecretUntil"`
	Delivered    int64                  `json:"delivered"`
	Failures     int64                  `json:"failures"`
	FailingSince *time.Time             `json:"failingSince"`
	NextAt       *time.Time             `json:"nextAttemptAt"`
	LastAt       *time.Time             `json:"lastAttemptAt"`
	LastStatus   int64                  `json:"lastStatus"`
	LastReply    string                 `json:"lastResponse"`
	CreatedAt    time.Time              `json:"createdAt"`
	UpdatedAt    time.Time              `json:"updatedAt"`
}

func (h *Handlers) record(row models.Destination) record {
	return record{
		ID: row.ID, Name: row.Name, Kind: row.Kind, Address: h.store.ShownAddress(&row), Filter: row.Filter, Active: row.Active, State: destinations.ConditionOf(&row),
		FormerUntil: row.FormerUntil, Delivered: row.Delivered, Failures: row.Failures, FailingSince: row.FailingSince, NextAt: row.NextAt,
		LastAt: row.LastAt, LastStatus: row.LastStatus, LastReply: row.LastReply, CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}
}

// List serves GET /api/destinations.
func (h *Handlers) List(c *fiber.Ctx) error {
	rows, err := h.store.All(c.UserContext())
	if err != nil {
		return err
	}
	return api.RespondList(c, rows, h.record)
}

// letter is an event that was not delivered.
type letter struct {
	ID      string          `json:"id"`
	EventID string          `json:"eventId"`
	Type    string          `json:"type"`
	At      time.Time       `json:"timestamp"`
	Data    json.RawMessage `json:"data"`
	DiedAt  time.Time       `json:"failedAt"`
	Reason  string          `json:"reason"`
	Again   bool            `json:"sendingAgain"`
}

// Get serves GET /api/destinations/:id, with what waits and the oldest events that
// were not delivered.
func (h *Handlers) Get(c *fiber.Ctx) error {
	row, err := h.store.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	state, err := h.store.State(c.UserContext(), &row)
	if err != nil {
		return err
	}
	dead, err := h.store.DeadLetters(c.UserContext(), row.ID, maxLetters)
	if err != nil {
		return err
	}
	answer := struct {
		record
		Waiting int      `json:"waiting"`
		Dead    int64    `json:"undelivered"`
		Letters []letter `json:"undeliveredEvents"`
	}{h.record(row), state.Waiting, state.Dead, []letter{}}
	for _, l := range dead {
		answer.Letters = append(answer.Letters, letter{l.ID, l.EventID, l.Kind, l.At, json.RawMessage(l.Body), l.DiedAt, l.Reason, l.AgainAt != nil})
	}
	return c.JSON(answer)
}

// newDestination is the body of a new destination.
type newDestination struct {
	Name    string                 `json:"name"`
	Kind    models.DestinationKind `json:"kind"`
	Address string                 `json:"address"`
	Secret  string                 `json:"secret"`
	Filter  string                 `json:"filter"`
}

// Create serves POST /api/destinations. Only this response contains the secret of
// a webhook.
func (h *Handlers) Create(c *fiber.Ctx) error {
	var body newDestination
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	row, secret, err := h.store.Create(c.UserContext(), destinations.New{
		Name: body.Name, Kind: body.Kind, Address: secrets.NewValue(body.Address), Secret: secrets.NewValue(body.Secret), Filter: body.Filter,
	})
	if err != nil {
		return err
	}
	return h.withSecret(c.Status(fiber.StatusCreated), row, secret)
}

// withSecret responds with a destination and its secret.
func (h *Handlers) withSecret(c *fiber.Ctx, row models.Destination, secret secrets.Value) error {
	answer := h.record(row)
	answer.Secret = secret.Reveal()
	compress.Never(c)
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.JSON(answer)
}

// change is the body of a change. Absent keys keep their value.
type change struct {
	Name    *string `json:"name"`
	Address *string `json:"address"`
	Secret  *string `json:"secret"`
	Filter  *string `json:"filter"`
	Active  *bool   `json:"active"`
}

// Update serves PATCH /api/destinations/:id.
func (h *Handlers) Update(c *fiber.Ctx) error {
	var body change
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	row, err := h.store.Update(c.UserContext(), c.Params("id"), destinations.Change{
		Name: body.Name, Address: valueOf(body.Address), Secret: valueOf(body.Secret), Filter: body.Filter, Active: body.Active,
	})
	if err != nil {
		return err
	}
	return c.JSON(h.record(row))
}

func valueOf(text *string) *secrets.Value {
	if text == nil {
		return nil
	}
	value := secrets.NewValue(*text)
	return &value
}

// Delete serves DELETE /api/destinations/:id.
func (h *Handlers) Delete(c *fiber.Ctx) error {
	if err := h.store.Delete(c.UserContext(), c.Params("id")); err != nil {
		return err
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// Test serves POST /api/destinations/:id/test: it sends a test event and returns
// the response of the destination.
func (h *Handlers) Test(c *fiber.Ctx) error {
	row, err := h.store.Get(c.UserContext(), c.Params("id"))
	if err != nil {
		return err
	}
	reply := h.deliveries.Test(c.UserContext(), &row)
	return c.JSON(struct {
		Delivered bool   `json:"delivered"`
		Status    int    `json:"status"` // 0 without a response
		Response  string `json:"response"`
		Millis    int64  `json:"durationMs"`
	}{reply.Err == nil, reply.Status, reply.Text, reply.Took.Milliseconds()})
}

// Rotate serves POST /api/destinations/:id/rotate. Only this response contains the
// new secret.
func (h *Handlers) Rotate(c *fiber.Ctx) error {
	var body struct {
		Secret string `json:"secret"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	row, secret, err := h.store.Rotate(c.UserContext(), c.Params("id"), secrets.NewValue(body.Secret))
	if err != nil {
		return err
	}
	return h.withSecret(c, row, secret)
}

// Retry serves POST /api/destinations/:id/retry: it sends an undelivered event, or
// all of them, again.
func (h *Handlers) Retry(c *fiber.Ctx) error {
	var body struct {
		ID string `json:"id"`
	}
	if err := web.BindJSON(c, &body); err != nil {
		return err
	}
	queued, err := h.store.Retry(c.UserContext(), c.Params("id"), body.ID)
	if err != nil {
		return err
	}
	return c.JSON(map[string]int64{"queued": queued})
}
