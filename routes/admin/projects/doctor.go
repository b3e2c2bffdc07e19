package projects

import (
	"context"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"mcpgateway/models"
	"mcpgateway/routes/frame"
	"mcpgateway/services/access/reach"
	"mcpgateway/services/doctor"
	"mcpgateway/services/fault"
	"mcpgateway/services/toolset"
	endpoints "mcpgateway/services/toolset/views"
	"mcpgateway/views/admin"
	views "mcpgateway/views/admin/doctor"
	"mcpgateway/views/ui"
	"mcpgateway/web"
	"mcpgateway/web/guard"
)

// DoctorRunner tests how clients reach an endpoint. Implemented by doctor.Doctor.
type DoctorRunner interface {
	Run(ctx context.Context, asked doctor.Request, report func(doctor.Step)) ([]doctor.Step, error)
}

// RefusedLog lists refused requests. Implemented by refused.Log.
type RefusedLog interface {
	List(ctx context.Context, projectID string) ([]models.RefusedRequest, error)
}

// Endpoints returns the endpoints of projects. Implemented by views.Views.
type Endpoints interface {
	Endpoint(projectSlug, toolsetSlug string) (*endpoints.Endpoint, error)
}

// RunDoctor serves POST /admin/projects/:projectSlug/connect/doctor. A script that
// accepts an event stream receives each step when it has ended.
func (a *Connect) RunDoctor(c *fiber.Ctx) error {
	p, err := a.Pages.Project(c)
	if err != nil {
		return err
	}
	asked := doctor.Request{Origin: web.FormValue(c, "origin")}
	if user := guard.UserOf(c); user != nil {
		asked.UserID = user.ID
	}
	chosen := web.FormValue(c, "toolset")
	if asked.At, err = a.Endpoints.Endpoint(p.Project.Slug, chosen); err != nil {
		return err
	}
	if err := doctor.CheckOrigin(asked.Origin); err != nil {
		if !frame.WantsLive(c) { // the script replaces only a part of the page and requires status 200
			c.Status(fiber.StatusUnprocessableEntity)
		}
		return a.page(c, p, func(props *admin.ConnectProps) {
			props.Doctor.Toolset, props.Doctor.Origin, props.Doctor.Errors = chosen, asked.Origin, fault.From(err).Fields
		})
	}
	if frame.WantsLive(c) {
		return frame.RespondLive(c, a.Pages.Assets, func(ctx context.Context, live *frame.LiveStream) (templ.Component, string) {
			steps, err := a.Doctor.Run(ctx, asked, func(s doctor.Step) { live.Show(views.Progress(shown(s))) })
			if err != nil {
				return views.Problem(fault.From(err).Message), ""
			}
			return views.Outcome(shownAll(steps)), ""
		})
	}
	steps, err := a.Doctor.Run(c.UserContext(), asked, nil)
	if err != nil {
		return err
	}
	return a.page(c, p, func(props *admin.ConnectProps) {
		props.Doctor.Toolset, props.Doctor.Origin, props.Doctor.Steps = chosen, asked.Origin, shownAll(steps)
	})
}

func shown(s doctor.Step) views.Step {
	return views.Step{Name: s.Name, Status: string(s.Status), Detail: s.Detail, Fix: s.Fix, MS: s.MS}
}

func shownAll(steps []doctor.Step) (all []views.Step) {
	for _, s := range steps {
		all = append(all, shown(s))
	}
	return all
}

// diagnosis sets the parts of the page about clients that don't connect.
func (a *Connect) diagnosis(c *fiber.Ctx, p *toolset.Snapshot, props *admin.ConnectProps) error {
	props.Doctor = views.Props{Slug: p.Project.Slug, CSRF: props.CSRF(), Controls: props.Admin(), Toolsets: []ui.Option{{Label: "Project"}}}
	for _, t := range p.ToolsetsBySlug() {
		props.Doctor.Toolsets = append(props.Doctor.Toolsets, ui.Option{Value: t.Slug, Label: "Toolset " + t.Slug})
	}
	rows, err := a.Refused.List(c.UserContext(), p.Project.ID)
	if err != nil {
		return err
	}
	mine := reach.Of(c.UserContext())
	props.Now = time.Now()
	for i, r := range rows {
		if i > 0 && sameRefusal(rows[i-1], r) {
			props.Refused[len(props.Refused)-1].Times++
			continue
		}
		props.Refused = append(props.Refused, views.Refusal{
			At: r.At, Client: mine.Text(r.Client), Address: r.Address, Endpoint: r.Endpoint, Status: r.Status, Code: r.Code, Reason: mine.Text(r.Reason), Times: 1,
		})
	}
	return nil
}

// sameRefusal reports whether two requests differ only in their times.
func sameRefusal(a, b models.RefusedRequest) bool {
	return a.Client == b.Client && a.Address == b.Address && a.Endpoint == b.Endpoint && a.Code == b.Code && a.Reason == b.Reason
}
