package routes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"mcpgateway/models"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
	"mcpgateway/web/guard"
)

// pasteApp is an application with an administrator who pastes configurations.
type pasteApp struct {
	*routestest.App
	ring         *secrets.KeyRing
	cookie, csrf string
}

func (a *pasteApp) signIn(t *testing.T, role models.Role) {
	t.Helper()
	if _, err := a.Services.People.Create(t.Context(), access.NewUser{Email: "ada@example.com", Role: role, Password: secrets.NewValue(password)}); err != nil {
		t.Fatal(err)
	}
	in, err := a.Services.People.SignIn(t.Context(), "ada@example.com", secrets.NewValue(password), access.Browser{IP: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	a.cookie, a.csrf = in.Cookie.Reveal(), guard.MaskToken(in.Session.CSRF)
}

// request sends a request and returns the status and the body of the response.
func (a *pasteApp) request(t *testing.T, method, path, contentType, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Content-Type", contentType)
	if strings.HasPrefix(path, "/api/") {
		r.Header.Set("Authorization", "Bearer "+routestest.AdminToken)
	} else {
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.AddCookie(&http.Cookie{Name: "sid", Value: a.cookie})
	}
	response, err := a.Test(r, 60_000)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(raw)
}

func (a *pasteApp) newProject(t *testing.T, slug string) {
	t.Helper()
	if status, body := a.request(t, "POST", "/api/projects", "application/json", fmt.Sprintf(`{"projectSlug":%q}`, slug)); status != 201 {
		t.Fatalf("project: %d %s", status, body)
	}
}

func (a *pasteApp) submit(t *testing.T, path string, form url.Values) (int, string) {
	t.Helper()
	form.Set("csrf", a.csrf)
	return a.request(t, "POST", path, "application/x-www-form-urlencoded", form.Encode())
}

// byAPI posts a configuration to a project's servers.
func (a *pasteApp) byAPI(t *testing.T, slug, text string) pasteOutcome {
	t.Helper()
	a.newProject(t, slug)
	status, body := a.request(t, "POST", "/api/projects/"+slug+"/servers", "application/json", text)
	type warnings []struct{ Code, Message string }
	var answer struct {
		Items []struct {
			Alias    string
			Warnings warnings
		}
		Refused, Fields map[string]string
		Warnings        warnings
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 201 && status != 422 {
		t.Fatalf("status %d: %s (%v)", status, body, err)
	}
	outcome := pasteOutcome{Servers: a.stored(t, slug), Refused: lines(answer.Refused), Notes: []string{}}
	if status == 422 {
		outcome.Refused = lines(answer.Fields)
	}
	for _, w := range answer.Warnings {
		outcome.Notes = append(outcome.Notes, w.Message)
	}
	for _, item := range answer.Items {
		for _, w := range item.Warnings {
			outcome.Notes = append(outcome.Notes, item.Alias+": "+w.Message)
		}
	}
	return outcome
}

// byImport uploads a configuration and applies the resulting plan.
func (a *pasteApp) byImport(t *testing.T, text string, want pasteOutcome) pasteOutcome {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if err := w.WriteField("csrf", a.csrf); err != nil {
		t.Fatal(err)
	}
	part, err := w.CreateFormFile("file", "mcp.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	status, body := a.request(t, "POST", "/admin/import", w.FormDataContentType(), form.String())
	page := readPage(t, body)
	outcome := pasteOutcome{Servers: map[string]storedServer{}, Refused: page.said(want.Refused), Notes: page.said(want.Notes)}
	if status == 422 {
		return outcome
	}
	if status, body := a.submit(t, "/admin/import/apply", page.form); status != 303 {
		t.Fatalf("apply: %d %s", status, body)
	}
	outcome.Servers = a.stored(t, "default")
	if err := a.Services.Projects.DeleteProject(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	return outcome
}

// byWizard pastes a configuration into the form for new servers. It adds every
// server without a problem on the page, without connecting.
func (a *pasteApp) byWizard(t *testing.T, slug, text string, want pasteOutcome) pasteOutcome {
	t.Helper()
	a.newProject(t, slug)
	servers := "/admin/projects/" + slug + "/servers"
	status, body := a.submit(t, servers+"/new", url.Values{"pasted": {text}})
	page := readPage(t, body)
	for name := range page.invalid {
		n, _, _ := strings.Cut(name, ".")
		page.form.Del(n + ".add")
	}
	seen := page.text
	if status == 200 && (len(page.invalid) == 0 || page.form.Get("count") != "1") {
		page.form.Set("untested", "all")
		_, body := a.submit(t, servers, page.form)
		seen += readPage(t, body).text
	}
	page.text = seen
	for i, line := range want.Refused { // the page has the entry in its heading, then the key
		if _, why, ok := strings.Cut(line, ": "); ok && strings.Contains(line, ".") && page.shows(why) {
			page.text += "\n" + want.Refused[i]
		}
	}
	for _, note := range want.Notes {
		if _, text, _ := strings.Cut(note, ": "); page.shows(text) {
			page.text += "\n" + note
		}
	}
	return pasteOutcome{Servers: a.stored(t, slug), Refused: page.said(want.Refused), Notes: page.said(want.Notes)}
}

// formPage is the text of a page and the fields of its forms.
type formPage struct {
	text    string
	form    url.Values
	invalid map[string]bool // names of fields with a problem
}

// shows reports whether the page contains a sentence. The case of its first
// letter is ignored.
func (p formPage) shows(line string) bool {
	return strings.Contains(strings.ToLower(p.text), strings.ToLower(line))
}

func (p formPage) said(lines []string) []string {
	found := []string{}
	for _, line := range lines {
		if p.shows(line) {
			found = append(found, line)
		}
	}
	return found
}

func readPage(t *testing.T, body string) formPage {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	page := formPage{form: url.Values{}, invalid: map[string]bool{}}
	selected := ""
	for n := range root.Descendants() {
		attributes := map[string]string{}
		for _, attribute := range n.Attr {
			attributes[attribute.Key] = attribute.Val
		}
		_, checked := attributes["checked"]
		name, kind := attributes["name"], attributes["type"]
		switch {
		case n.Type == html.TextNode:
			page.text += n.Data
		case n.Data == "select":
			selected = name
		case n.Data == "option":
			if _, chosen := attributes["selected"]; chosen {
				page.form.Set(selected, attributes["value"])
			}
		case n.Data == "input" && name != "" && (kind != "checkbox" && kind != "radio" || checked):
			page.form.Set(name, attributes["value"])
		}
		if attributes["aria-invalid"] == "true" {
			page.invalid[name] = true
		}
	}
	return page
}
