package routes

import (
	"log/slog"
	"time"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/services"
	"mcpgateway/web"
)

// Row is a row of the route table.
type Row struct{ Method, Path, Guard string }

// Table returns the whole route table.
func Table(s *services.Services) []Row {
	names := web.NewNames(s.Config.PublicURL, nil, nil, true)
	guards, _ := newGuards(s)
	var rows []Row
	for _, r := range table(newHandlers(s, names, guards, newPages(s), slog.New(slog.DiscardHandler))) {
		rows = append(rows, Row{r.method, r.path, string(r.guard)})
	}
	return rows
}

// BoundedElsewhere returns the routes without their own deadline, as METHOD
// PATH.
func BoundedElsewhere() []string { return deadlineExempt() }

// NewWithLimit returns the application with another request limit.
func NewWithLimit(s *services.Services, log *slog.Logger, limit time.Duration) *fiber.App {
	return newApp(s, log, limit)
}

// Kinds returns the kinds of existing guards.
func Kinds(s *services.Services) map[string]bool {
	_, before := newGuards(s)
	kinds := map[string]bool{}
	for kind := range before {
		kinds[string(kind)] = true
	}
	return kinds
}
