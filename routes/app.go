package routes

import (
	"log/slog"
	"net/url"
	"slices"
	"time"

	"mcpgateway/web/compress"

	"github.com/gofiber/fiber/v2"

	adminpages "mcpgateway/routes/admin"
	"mcpgateway/routes/frame"
	"mcpgateway/services"
	"mcpgateway/services/fault"
	"mcpgateway/static"
	"mcpgateway/views/layout"
	"mcpgateway/views/paths"
	"mcpgateway/web"
)

// New returns the application with every route.
func New(s *services.Services, log *slog.Logger) *fiber.App { return newApp(s, log, requestLimit) }

func newApp(s *services.Services, log *slog.Logger, limit time.Duration) *fiber.App {
	c := s.Config
	names := web.NewNames(c.PublicURL, c.AllowedHosts, c.AllowedOrigins, c.LoopbackListener)
	guards, before := newGuards(s)
	pages := newPages(s)
	app := web.New(web.Options{
		Names: names, HTTPS: c.PublicURL.Scheme == "https", TrustedProxies: c.TrustedProxies, Log: log, Background: s.Background,
		ErrorPage: errorPage(pages.Pages, guards), Help: help(c.PublicURL), Requests: s.Metrics, Draining: s.Draining, Spans: spansOf(s.Tracer),
		BodyLimit: bodyLimit(s.Directory, guards), BodyMemory: c.RequestMemory,
	})
	compressor := compress.New()
	h := newHandlers(s, names, guards, pages, log)
	for _, r := range table(h) {
		chain, declared := before[r.guard]
		if !declared {
			chain = []fiber.Handler{denyAll} // a route without an audience is closed
		}
		handlers := slices.Concat([]fiber.Handler{web.Route(r.path)}, compressed(r, compressor), limited(r, chain, limit), filled(r, h.resume.Fill), []fiber.Handler{r.handler})
		if r.method == anyone {
			app.All(r.path, handlers...)
			continue
		}
		app.Add(r.method, r.path, handlers...)
		if r.method == get {
			app.Add(head, r.path, handlers...)
		}
	}
	return app
}

// filled returns the handler that fills the forms of pages again, for the pages of
// signed-in users.
func filled(r route, fill fiber.Handler) []fiber.Handler {
	if r.method != get {
		return nil
	}
	switch r.guard {
	case person, viewer, admin, projectViewer, maintainer, someViewer:
		return []fiber.Handler{fill}
	}
	return nil
}

// newPages returns the frame of every page.
func newPages(s *services.Services) *adminpages.ProjectPages {
	health := &adminpages.Health{Syncer: s.Syncer, Waiting: s.Waiting, Programs: s.Runners}
	navigation := adminpages.NewNavigation(s.Directory, health, s.Waiting)
	frames := frame.NewPages(layout.NewAssets(static.URL), adminpages.Banners(s.Directory, s.Waiting, s.Requests, s.FiringAlerts), navigation.OfRequest)
	return &adminpages.ProjectPages{Pages: frames, Directory: s.Directory, Health: health, Navigation: navigation, OlderReplicas: s.OlderReplicas}
}

// help returns the address of the documentation of an error code on this
// gateway.
func help(publicURL *url.URL) web.Help {
	origin := publicURL.String()
	return func(code fault.Code) string { return origin + paths.ErrorCode(string(code)) }
}
