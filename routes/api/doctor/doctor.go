// Package doctor serves the client doctor and the refused requests of a project.
package doctor

import (
	"context"
	"encoding/json"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/doctor"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset/views"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// Runner tests how clients reach an endpoint. Implemented by doctor.Doctor.
type Runner interface {
	Run(ctx context.Context, asked doctor.Request, report func(doctor.Step)) ([]doctor.Step, error)
}

// Log lists refused requests. Implemented by refused.Log.
type Log interface {
	List(ctx context.Context, projectID string) ([]models.RefusedRequest, error)
}

// Endpoints returns the endpoints of projects. Implemented by views.Views.
type Endpoints interface {
	Endpoint(projectSlug, toolsetSlug string) (*views.Endpoint, error)
}

// Doctor serves the API.
type Doctor struct {
	runner    Runner
	refused   Log
	endpoints Endpoints
}

// New returns the handlers.
func New(runner Runner, refused Log, endpoints Endpoints) *Doctor {
	return &Doctor{runner: runner, refused: refused, endpoints: endpoints}
}

type runRequest struct {
	Toolset string
	Origin  string
}

type runResponse struct {
	OK    bool          `json:"ok"` // no step failed
	Steps []doctor.Step `json:"steps"`
}

// Run serves POST /api/projects/:projectSlug/doctor.
func (d *Doctor) Run(c *fiber.Ctx) error {
	asked, err := readRequest(c)
	if err != nil {
		return err
	}
	at, err := d.endpoints.Endpoint(c.Params("projectSlug"), asked.Toolset)
	if err != nil {
		return err
	}
	steps, err := d.runner.Run(c.UserContext(), doctor.Request{At: at, Origin: asked.Origin, UserID: userOf(c)}, nil)
	if err != nil {
		return err
	}
	return c.JSON(runResponse{OK: Passed(steps), Steps: steps})
}

// Passed reports whether no step failed.
func Passed(steps []doctor.Step) bool {
	for _, s := range steps {
		if s.Status == doctor.Failed {
			return false
		}
	}
	return true
}

// readRequest reads the optional body. It returns VALIDATION_FAILED for unknown
// keys and wrong types.
func readRequest(c *fiber.Ctx) (asked runRequest, err error) {
	if len(c.Request().Body()) == 0 {
		return asked, nil
	}
	body, err := web.JSONBody(c)
	if err != nil {
		return asked, err
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(body, &keys) != nil {
		return asked, fault.Validation(map[string]string{"body": "must be an object"})
	}
	problems := map[string]string{}
	for name, raw := range keys {
		into := map[string]*string{"toolset": &asked.Toolset, "origin": &asked.Origin}[name]
		if into == nil {
			problems[name] = "unknown key"
		} else if json.Unmarshal(raw, into) != nil {
			problems[name] = "must be a text"
		}
	}
	if len(problems) > 0 {
		return asked, fault.Validation(problems)
	}
	return asked, nil
}

// userOf returns the ID of the signed-in user, or "" for the administration token.
func userOf(c *fiber.Ctx) string {
	if p := guard.UserOf(c); p != nil {
		return p.ID
	}
	return ""
}

type refusedRecord struct {
	At        time.Time `json:"at"`
	Method    string    `json:"method"`
	Endpoint  string    `json:"endpoint"`
	Status    int64     `json:"status"`
	Code      string    `json:"code"`
	Reason    string    `json:"reason"`
	Client    string    `json:"client"`
	Address   string    `json:"address"`
	RequestID string    `json:"requestId"`
}

// Refused serves GET /api/projects/:projectSlug/refused.
func (d *Doctor) Refused(c *fiber.Ctx) error {
	at, err := d.endpoints.Endpoint(c.Params("projectSlug"), "")
	if err != nil {
		return err
	}
	rows, err := d.refused.List(c.UserContext(), at.Project().ID)
	if err != nil {
		return err
	}
	mine, items := reach.Of(c.UserContext()), make([]refusedRecord, len(rows))
	for i, r := range rows {
		items[i] = refusedRecord{r.At.UTC(), r.Method, r.Endpoint, r.Status, r.Code, mine.Text(r.Reason), mine.Text(r.Client), r.Address, r.RequestID}
	}
	return c.JSON(struct {
		Items      []refusedRecord `json:"items"`
		Count      int             `json:"count"`
		NextCursor *string         `json:"nextCursor"` // always null
	}{items, len(items), nil})
}
