package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"mcpgateway/web/webtest"
)

// openAPI contains the parts of the document used by tests.
type openAPI struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct {
		Schemas    map[string]json.RawMessage
		Parameters map[string]parameter
		Responses  map[string]answer
	}
}

type operation struct {
	OperationID string
	Parameters  []parameter
	RequestBody struct{ Content content }
	Responses   map[string]answer
	Security    *[]map[string][]string
}

type parameter struct {
	Ref      string `json:"$ref"`
	Name, In string
}

type answer struct {
	Ref     string `json:"$ref"`
	Content content
}

type content map[string]struct{ Schema, Example json.RawMessage }

func readOpenAPI(t *testing.T, a *app) *openAPI {
	t.Helper()
	got := a.send(t, "GET", "/api/openapi.json", "", "")
	webtest.Check(t, webtest.Case{Status: 200, WantHeader: map[string]string{"Content-Type": "application/json"}}, got)
	d := &openAPI{}
	if err := json.Unmarshal([]byte(got.Body), d); err != nil {
		t.Fatal(err)
	}
	return d
}

var parameterInPath = regexp.MustCompile(`:[A-Za-z]+|\{[A-Za-z]+\}`)

func TestOpenAPIListsRoutes(t *testing.T) {
	a := onSQLite(t)
	served := map[string]bool{}
	for _, r := range a.GetRoutes(true) {
		if api := strings.HasPrefix(r.Path, "/api/") || strings.Contains(r.Path, "/v0.1/") && !strings.HasSuffix(r.Path, "/*"); api && r.Method != "HEAD" && r.Method != "OPTIONS" {
			served[r.Method+" "+parameterInPath.ReplaceAllString(r.Path, "{}")] = true
		}
	}
	described := map[string]bool{}
	for path, operations := range readOpenAPI(t, a).Paths {
		for method := range operations {
			described[strings.ToUpper(method)+" "+parameterInPath.ReplaceAllString(path, "{}")] = true
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(served)), slices.Sorted(maps.Keys(described))); d != "" {
		t.Errorf("(-served +described):\n%s", d)
	}
}

func TestOpenAPIReferences(t *testing.T) {
	d := readOpenAPI(t, onSQLite(t))
	if d.OpenAPI != "3.1.0" {
		t.Errorf("OpenAPI version %q", d.OpenAPI)
	}
	ids := map[string]string{}
	public := []string{"getOpenAPI", "searchRegistry", "searchTemplates", "listOfficial", "listOfficialVersions", "getOfficialVersion"}
	for path, operations := range d.Paths {
		for method, o := range operations {
			name := method + " " + path
			if other := ids[o.OperationID]; o.OperationID == "" || other != "" {
				t.Errorf("%s has the operationId %q of %s", name, o.OperationID, other)
			}
			ids[o.OperationID] = name
			if open := o.Security != nil && len(*o.Security) == 0; open != slices.Contains(public, o.OperationID) {
				t.Errorf("%s: open = %v", name, open)
			}
			var inPath []string
			for _, p := range o.Parameters {
				if p.Ref != "" {
					p = d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
				}
				if p.Name == "" {
					t.Errorf("%s has a parameter without a name", name)
				}
				if p.In == "path" {
					inPath = append(inPath, "{"+p.Name+"}")
				}
			}
			if want := parameterInPath.FindAllString(path, -1); !cmp.Equal(want, inPath) {
				t.Errorf("%s: path parameters %v", name, inPath)
			}
			for status, r := range o.Responses {
				if r.Ref != "" && d.Components.Responses[strings.TrimPrefix(r.Ref, "#/components/responses/")].Content == nil {
					t.Errorf("%s: status %s refers to unknown %s", name, status, r.Ref)
				}
			}
		}
	}
}

// schema returns the validator of a schema of the document, or of one that
// refers to them.
func (d *openAPI) schema(t *testing.T, raw json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	var root map[string]json.RawMessage
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal(d.Components.Schemas)
	if err != nil {
		t.Fatal(err)
	}
	root["$defs"] = all
	text, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	s := &jsonschema.Schema{}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/")), s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return resolved
}

func (d *openAPI) validate(t *testing.T, what string, schema json.RawMessage, value []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := d.schema(t, schema).Validate(v); err != nil {
		t.Errorf("%s: %v; %s", what, err, value)
	}
}

// call sends a request of the administrator, checks its response against the
// description of the path template, and returns it.
func (d *openAPI) call(t *testing.T, a *app, method, path, template, body string, status int) map[string]any {
	t.Helper()
	got := a.admin(t, method, path, body, status, nil)
	r, described := d.Paths[template][strings.ToLower(method)].Responses[fmt.Sprint(status)]
	if !described {
		t.Errorf("%s %s has no description of status %d", method, template, status)
	}
	if r.Ref != "" {
		r = d.Components.Responses[strings.TrimPrefix(r.Ref, "#/components/responses/")]
	}
	for _, c := range r.Content {
		d.validate(t, method+" "+path, c.Schema, []byte(got.Body))
	}
	reply := map[string]any{}
	if got.Body != "" {
		if err := json.Unmarshal([]byte(got.Body), &reply); err != nil {
			t.Fatal(err)
		}
	}
	return reply
}

func TestOpenAPIExamplesAreValid(t *testing.T) {
	d := readOpenAPI(t, onSQLite(t))
	examples := 0
	for path, operations := range d.Paths {
		for method, o := range operations {
			for _, c := range o.RequestBody.Content {
				d.validate(t, method+" "+path, c.Schema, c.Example)
				examples++
			}
			for status, r := range o.Responses {
				for _, c := range r.Content {
					if c.Example == nil {
						if o.OperationID != "getOpenAPI" {
							t.Errorf("%s %s lacks an example of %s", method, path, status)
						}
						continue
					}
					d.validate(t, method+" "+path+" "+status, c.Schema, c.Example)
					examples++
				}
			}
		}
	}
	if examples < 30 {
		t.Errorf("only %d examples", examples)
	}
	wrong := d.schema(t, json.RawMessage(`{"$ref":"#/components/schemas/Key"}`))
	if err := wrong.Validate(map[string]any{"id": 7}); err == nil {
		t.Error("schemas accept any value")
	}
}

func TestResponsesMatchOpenAPI(t *testing.T) {
	a := onSQLite(t)
	d := readOpenAPI(t, a)
	a.admin(t, "POST", "/api/projects", `{"projectSlug":"p"}`, 201, nil)
	a.project(t, "q", "none", `,"authBearer":"x"`)
	id := a.ServerID(t, "q", "up")
	fresh := func() string {
		key, _ := a.Key(t, "q", 0)
		return key
	}
	for _, tc := range []struct{ method, path, template, body, status string }{
		{"GET", "/api/projects?limit=1", "/api/projects", "", "200"},
		{"POST", "/api/projects", "/api/projects", `{"projectSlug":"new"}`, "201"},
		{"POST", "/api/projects", "/api/projects", `{"projectSlug":"p"}`, "409"},
		{"POST", "/api/projects", "/api/projects", `{"x":1}`, "422"},
		{"GET", "/api/projects/q", "/api/projects/{projectSlug}", "", "200"},
		{"GET", "/api/projects/zzz", "/api/projects/{projectSlug}", "", "404"},
		{"PATCH", "/api/projects/q", "/api/projects/{projectSlug}", `{"name":"Q"}`, "200"},
		{"GET", "/api/projects/q/servers", "/api/projects/{projectSlug}/servers", "", "200"},
		{"POST", "/api/projects/p/servers", "/api/projects/{projectSlug}/servers", `{"alias":"x","url":"` + a.url + `"}`, "201"},
		{"GET", "/api/servers/" + id, "/api/servers/{id}", "", "200"},
		{"PATCH", "/api/servers/" + id, "/api/servers/{id}", `{"alias":"renamed"}`, "200"},
		{"POST", "/api/servers/" + id + "/sync", "/api/servers/{id}/sync", "", "200"},
		{"GET", "/api/projects/q/tools", "/api/projects/{projectSlug}/tools", "", "200"},
		{"PATCH", "/api/projects/q/tools/renamed__echo", "/api/projects/{projectSlug}/tools/{name}", `{"enabled":false}`, "200"},
		{"POST", "/api/projects/q/toolsets", "/api/projects/{projectSlug}/toolsets", `{"slug":"reader","include":["renamed__*"]}`, "201"},
		{"POST", "/api/projects/q/toolsets", "/api/projects/{projectSlug}/toolsets", `{"slug":"reader"}`, "409"},
		{"POST", "/api/projects/q/toolsets", "/api/projects/{projectSlug}/toolsets", `{"slug":"other","query":"words"}`, "422"},
		{"GET", "/api/projects/q/toolsets", "/api/projects/{projectSlug}/toolsets", "", "200"},
		{"GET", "/api/projects/q/toolsets/reader", "/api/projects/{projectSlug}/toolsets/{toolset}", "", "200"},
		{"PATCH", "/api/projects/q/toolsets/reader", "/api/projects/{projectSlug}/toolsets/{toolset}", `{"query":"server:gone"}`, "200"},
		{"POST", "/api/projects/q/toolsets/preview", "/api/projects/{projectSlug}/toolsets/preview", `{"query":"server:gone","include":["*"]}`, "200"},
		{"DELETE", "/api/projects/q/toolsets/reader?force=1", "/api/projects/{projectSlug}/toolsets/{toolset}", "", "400"},
		{"DELETE", "/api/projects/q/toolsets/reader", "/api/projects/{projectSlug}/toolsets/{toolset}", "", "204"},
		{"POST", "/api/projects/q/keys", "/api/projects/{projectSlug}/keys", `{"name":"k"}`, "201"},
		{"GET", "/api/projects/q/keys", "/api/projects/{projectSlug}/keys", "", "200"},
		{"POST", "/api/keys/" + fresh() + "/rotate", "/api/keys/{id}/rotate", `{}`, "201"},
		{"DELETE", "/api/keys/" + fresh(), "/api/keys/{id}", "", "204"},
		{"GET", "/api/audit", "/api/audit", "", "200"},
		{"GET", "/api/audit?x=1", "/api/audit", "", "400"},
		{"POST", "/api/people", "/api/people", `{"email":"ada@example.com","role":"viewer"}`, "201"},
		{"POST", "/api/people", "/api/people", `{"email":"ADA@example.com","role":"viewer"}`, "409"},
		{"POST", "/api/people", "/api/people", `{"email":"ada","role":"boss"}`, "422"},
		{"GET", "/api/people", "/api/people", "", "200"},
		{"PATCH", "/api/people/unknown", "/api/people/{id}", `{"name":"x"}`, "404"},
		{"DELETE", "/api/people/unknown", "/api/people/{id}", "", "404"},
		{"DELETE", "/api/servers/" + id, "/api/servers/{id}", "", "204"},
		{"DELETE", "/api/projects/q", "/api/projects/{projectSlug}", "", "204"},
	} {
		t.Run(tc.method+" "+tc.path, func(t *testing.T) {
			var status int
			if _, err := fmt.Sscan(tc.status, &status); err != nil {
				t.Fatal(err)
			}
			got := a.admin(t, tc.method, tc.path, tc.body, status, nil)
			r, described := d.Paths[tc.template][strings.ToLower(tc.method)].Responses[tc.status]
			if r.Ref != "" {
				r = d.Components.Responses[strings.TrimPrefix(r.Ref, "#/components/responses/")]
			}
			if !described || (len(r.Content) == 0) != (got.Body == "") {
				t.Fatalf("described: %v; %s", described, got.Body)
			}
			for media, c := range r.Content {
				if media == "text/csv" || media == "application/x-ndjson" { // files, on request
					continue
				}
				d.validate(t, "the answer", c.Schema, []byte(got.Body))
			}
		})
	}
}

// Parameters that the official registry's operation reads are described.
func TestOpenAPIListsParameters(t *testing.T) {
	source, err := os.ReadFile("registry/v01.go")
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]bool{}
	for _, m := range regexp.MustCompile(`p\.(?:first|flag)\("([a-z_]+)"\)`).FindAllStringSubmatch(string(source), -1) {
		read[m[1]] = true
	}
	described := map[string]bool{}
	d := readOpenAPI(t, onSQLite(t))
	for _, p := range d.Paths["/v0.1/servers"]["get"].Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
		}
		described[p.Name] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(read)), slices.Sorted(maps.Keys(described))); diff != "" {
		t.Errorf("parameters of /v0.1/servers (-read +described):\n%s", diff)
	}
}
