package routes_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/models/modelstest"
	"mcpgateway/routes"
	"mcpgateway/routes/routestest"
)

func TestKitOnlyInDevelopment(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t))
	expect := func(app *fiber.App, status int) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, "/kit", nil)
		r.Host = "127.0.0.1:8080"
		answer, err := app.Test(r, -1)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != status || answer.Body.Close() != nil {
			t.Errorf("status = %d, want %d", answer.StatusCode, status)
		}
	}
	expect(a.App, http.StatusNotFound)
	a.Services.Dev = true
	expect(routes.New(a.Services, slog.New(slog.DiscardHandler)), http.StatusOK)
}
