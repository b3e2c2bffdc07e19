package settings_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/routes/routestest"
)

// upload posts the import form like a browser. A nil file means no chosen file.
func upload(t *testing.T, a *routestest.Admin, csrf, pasted string, file []byte) (status int, body string) {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if err := w.WriteField("csrf", csrf); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteField("declaration", pasted); err != nil {
		t.Fatal(err)
	}
	name := ""
	if file != nil {
		name = "gateway.json"
	}
	part, err := w.CreateFormFile("file", name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(file); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/admin/import", &form)
	request.Host = "127.0.0.1:8080"
	request.Header.Set("Content-Type", w.FormDataContentType())
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	request.AddCookie(&http.Cookie{Name: "sid", Value: a.Cookie})
	answer, err := a.Test(request, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(raw)
}

func TestImportPlan(t *testing.T) {
	a := routestest.NewAdmin(t)
	const limit = 600 << 10
	// sized returns a file of n bytes.
	sized := func(n int) []byte {
		const around = `{"projects":{"sized":{"description":""}}}`
		return []byte(strings.Replace(around, `""`, `""`+strings.Repeat(" ", n-len(around)), 1))
	}
	for _, c := range []struct {
		name, csrf, pasted string
		file               []byte
		status             int
		want               string
	}{
		{"chosen file", a.CSRF, "", []byte(`{"projects":{"fresh":{"name":"Fresh"}}}`), 200, "project fresh"},
		{"pasted file", a.CSRF, `{"projects":{"pasted":{}}}`, nil, 200, "project pasted"},
		{"both", a.CSRF, `{"projects":{"pasted":{}}}`, []byte(`{"projects":{"fresh":{}}}`), 422, "not both"},
		{"neither", a.CSRF, " ", nil, 422, "Choose a file or paste JSON."},
		{"invalid file", a.CSRF, "", []byte{0xff, 0, 1}, 422, "notice bad"},
		{"below the limit", a.CSRF, "", sized(limit - 1), 200, "project sized"},
		{"at the limit", a.CSRF, "", sized(limit), 200, "project sized"},
		{"over the limit", a.CSRF, "", sized(limit + 1), 422, "larger than 600 KiB"},
		{"without a token", "", `{"projects":{"pasted":{}}}`, nil, 403, "has expired"},
		{"with a wrong token", strings.Repeat("x", len(a.CSRF)-1) + "w", `{"projects":{"pasted":{}}}`, nil, 403, "has expired"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, body := upload(t, a, c.csrf, c.pasted, c.file)
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("status %d, want %d and %q in %.600s", status, c.status, c.want, body)
			}
			if bytes.Contains([]byte(body), []byte(fmt.Sprintf("%c", 0xfffd))) {
				t.Error("page contains invalid UTF-8")
			}
		})
	}
	if len(a.Services.Directory.All()) != 1 {
		t.Error("plan changed the projects")
	}
}

func TestImportNamesMissingSecrets(t *testing.T) {
	a := routestest.NewAdmin(t)
	file := `{"projects":{"copy":{"mcpServers":{"docs":{"url":"https://docs.example/mcp","authType":"bearer","authBearer":"[secret]","headers":{"X-Key":"[secret]"}}}}}}`
	status, page := upload(t, a, a.CSRF, file, nil)
	for _, want := range []string{"2 secrets are missing", "copy / docs / authBearer", "copy / docs / headers.X-Key"} {
		if status != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("status %d, and the plan lacks %q", status, want)
		}
	}
	_, sealed, _ := strings.Cut(page, `name="sealed" value="`)
	sealed, _, _ = strings.Cut(sealed, `"`)
	request := httptest.NewRequest(http.MethodPost, "/admin/import/apply", strings.NewReader(url.Values{"csrf": {a.CSRF}, "sealed": {sealed}}.Encode()))
	request.Host = "127.0.0.1:8080"
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	request.AddCookie(&http.Cookie{Name: "sid", Value: a.Cookie})
	answer, err := a.Test(request, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text := ""
	for _, cookie := range answer.Cookies() {
		if cookie.Name == "flash" {
			raw, err := base64.RawURLEncoding.DecodeString(cookie.Value)
			if err != nil {
				t.Fatal(err)
			}
			text = string(raw)
		}
	}
	if want := "Set the missing secrets: copy / docs / authBearer, copy / docs / headers.X-Key."; answer.StatusCode != http.StatusSeeOther || !strings.Contains(text, want) {
		t.Errorf("status %d with the message %s, want %s", answer.StatusCode, text, want)
	}
}
