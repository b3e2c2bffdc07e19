package routes

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// formPages returns a route for each form of the pages that redirects a GET
// request, such as one from the browser's history, to the page above the form.
func formPages(table []route) []route {
	pages := map[string]audience{}
	for _, r := range table {
		if r.method == get {
			pages[r.path] = r.guard
		}
	}
	var all []route
	for _, r := range table {
		if _, has := pages[r.path]; has || r.method != post || !slices.Contains([]audience{person, viewer, admin, stepUp, own, ownStepUp, projectViewer, maintainer, carefulOne, someViewer, someAdmin}, r.guard) || strings.HasPrefix(r.path, "/api/") {
			continue
		}
		up := r.path
		guard, found := audience(""), false
		for !found && up != "" {
			up = up[:strings.LastIndexByte(up, '/')]
			guard, found = pages[up]
		}
		if found {
			all = append(all, route{get, r.path, toPageAbove(strings.Count(r.path, "/") - strings.Count(up, "/")), guard})
		}
	}
	return all
}

// toPageAbove redirects to the path without its last n segments.
func toPageAbove(n int) fiber.Handler {
	return func(c *fiber.Ctx) error {
		path := c.Path()
		for range n {
			path = path[:strings.LastIndexByte(path, '/')]
		}
		return c.Redirect(path, fiber.StatusSeeOther)
	}
}
