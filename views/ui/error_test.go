package ui_test

import (
	"net/http"
	"strings"
	"testing"

	"mcpgateway/views/layout"
	"mcpgateway/views/ui"
)

func TestErrorPageOffersRetry(t *testing.T) {
	for _, tc := range []struct {
		status   int
		heading  string
		badge    string
		tryAgain bool
	}{
		{404, "Page not found", "status warn", false},
		{428, "Precondition Required", "status warn", false},
		{429, "Too many requests", "status warn", true},
		{431, "Request Header Fields Too Large", "status warn", false},
		{500, "Something went wrong on our side", "status bad", true},
		{503, "Service Unavailable", "status bad", true},
	} {
		t.Run(tc.heading, func(t *testing.T) {
			page := render(t, tc.status, "it did not work", "id-1")
			for _, want := range []string{">" + tc.heading + "</h1>", `class="` + tc.badge + `"`, "it did not work.", `>id-1</code>`, `href="/"`} {
				if !strings.Contains(page, want) {
					t.Errorf("page lacks %q:\n%s", want, page)
				}
			}
			if got := strings.Contains(page, "Try again"); got != tc.tryAgain {
				t.Errorf("retry offered = %t, want %t", got, tc.tryAgain)
			}
		})
	}
}

func TestErrorPageEscapesMessage(t *testing.T) {
	page := render(t, 404, `Not found: GET /<script>alert(1)</script>`, `"><b>`)
	for _, raw := range []string{"<script", "<b>"} {
		if strings.Contains(page, raw) {
			t.Errorf("page contains %q as markup:\n%s", raw, page)
		}
	}
}

func render(t *testing.T, status int, message, requestID string) string {
	t.Helper()
	var b strings.Builder
	frame := layout.Frame{Title: http.StatusText(status), Assets: layout.Assets{CSS: "/static/app.css", Icon: "/static/icon.svg"}}
	if err := ui.ErrorPage(frame, status, message, requestID).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
